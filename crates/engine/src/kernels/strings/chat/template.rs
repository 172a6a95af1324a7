//! A chat template: renders a conversation, and finds the text that the assistant generated.
//!
//! Source: `utils/chat_template_utils.py` of transformers.

use super::generation::{CALLED, rewritten};
use super::values::{AsText, List, as_float};
use super::{json, methods, sorting};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Object, Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Characters that mark the start and end of a block, for blocks whose output becomes a value.
/// Unicode reserves them for such use within a program.
const MARKS: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];
const NAME: &str = "chat";

/// A compiled chat template.
#[derive(Debug)]
pub struct Template {
    environment: Environment<'static>,
    variables: Vec<(Value, Value)>,
    has_blocks: bool,
    is_captured: bool,
}

/// The text of a conversation.
#[derive(Debug, PartialEq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The bytes in it that the assistant generated, in order.
    pub spans: Vec<Range<usize>>,
}

impl Template {
    /// Compiles a template. `variables` is a map of constants, such as the special tokens, and
    /// `strftime_now` formats the time.
    pub fn new(
        source: &str,
        variables: &Value,
        strftime_now: impl Fn(&str) -> Result<String, Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let rewritten = rewritten(source);
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_unknown_method_callback(methods::call);
        environment.set_formatter(|output, _, value| match value.as_str() {
            Some(text) => Ok(output.write_str(text)?),
            None => Ok(write!(output, "{}", AsText(value))?),
        });
        environment.add_filter("string", |value: &Value| AsText(value).to_string());
        environment.add_filter("tojson", json::tojson);
        environment.add_filter("trim", methods::trim);
        environment.add_filter("dictsort", sorting::dictsort);
        environment.add_filter("sort", sorting::sort);
        environment.add_filter("min", sorting::min);
        environment.add_filter("max", sorting::max);
        // It would only ignore the case of ASCII letters.
        environment.remove_filter("groupby");
        environment.add_test("float", |value: &Value| as_float(value).is_some());
        environment.add_test("number", |value: &Value| {
            matches!(value.kind(), ValueKind::Number | ValueKind::Bool) || as_float(value).is_some()
        });
        environment.add_test("iterable", |value: &Value| {
            use ValueKind::{Iterable, Map, Seq, String, Undefined};
            matches!(value.kind(), Iterable | Map | Seq | String | Undefined)
        });
        environment.add_test("sequence", |value: &Value| {
            use ValueKind::{Map, Seq, String, Undefined};
            matches!(value.kind(), Map | Seq | String | Undefined)
        });
        environment.add_function("raise_exception", |message: &Value| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message.to_string()))
        });
        environment.add_function("strftime_now", move |format: &str| strftime_now(format));
        environment.add_template_owned(NAME, rewritten.source)?;
        let variables = variables.try_iter()?.map(|name| Ok((name.clone(), variables.get_item(&name)?)));
        let variables = variables.collect::<Result<_, Error>>()?;
        Ok(Self { environment, variables, has_blocks: rewritten.has_blocks, is_captured: rewritten.is_captured })
    }

    /// True if the template has `{% generation %}` blocks.
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Renders a conversation.
    pub fn render(&self, messages: &[Value], tools: &Value, adds_prompt: bool) -> Result<Rendered, Error> {
        let rendered = self.run(messages, tools, adds_prompt, false)?;
        if !self.is_captured {
            return Ok(rendered);
        }
        // A block does not know where its text ends up in the result, so the text is put between
        // marks.
        let marked = self.run(messages, tools, adds_prompt, true)?.text;
        without_marks(&marked).filter(|other| other.text == rendered.text).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOperation,
                "the position of a {% generation %} block within a macro, filter, call or set block cannot be found. Move it \
                 out of that block",
            )
        })
    }

    fn run(&self, messages: &[Value], tools: &Value, adds_prompt: bool, is_marking: bool) -> Result<Rendered, Error> {
        let blocks = Arc::new(Blocks { is_marking, ..Blocks::default() });
        let own = [
            ("messages", Value::from_object(List(messages.to_vec()))),
            ("tools", tools.clone()),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(adds_prompt)),
            (CALLED, Value::from_dyn_object(Arc::clone(&blocks))),
        ];
        let names = Value::from_pairs(
            own.map(|(name, value)| (Value::from(name), value)).into_iter().chain(self.variables.clone()),
        );
        let mut output = Sink { text: Vec::new(), blocks: &blocks };
        self.environment.get_template(NAME)?.render_captured_to(names, &mut output)?;
        let text = String::from_utf8(output.text)
            .map_err(|_| Error::new(ErrorKind::InvalidOperation, "the text is not UTF-8"))?;
        let spans = std::mem::take(&mut *blocks.spans.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Rendered { text, spans })
    }
}

/// The function that is called at the start and end of each block.
#[derive(Debug, Default)]
struct Blocks {
    is_marking: bool,
    /// The bytes that were written so far, by the thread that renders.
    position: AtomicUsize,
    spans: Mutex<Vec<Range<usize>>>,
}

impl Object for Blocks {
    fn call(self: &Arc<Self>, _state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let (is_start,): (bool,) = from_args(args)?;
        if self.is_marking {
            return Ok(MARKS[usize::from(!is_start)].into());
        }
        let position = self.position.load(Ordering::Relaxed);
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if is_start {
            spans.push(position..position);
        } else if let Some(span) = spans.last_mut() {
            span.end = position;
        }
        Ok("".into())
    }
}

struct Sink<'a> {
    text: Vec<u8>,
    blocks: &'a Blocks,
}

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        self.blocks.position.store(self.text.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text between marks and around them; `None` if they do not form pairs.
fn without_marks(marked: &str) -> Option<Rendered> {
    let mut rendered = Rendered { text: String::with_capacity(marked.len()), spans: Vec::new() };
    let (mut start, mut depth) = (0, 0_usize);
    for piece in marked.split_inclusive(MARKS) {
        let text = piece.trim_end_matches(MARKS);
        rendered.text.push_str(text);
        if piece.ends_with(MARKS[0]) {
            start = if depth == 0 { rendered.text.len() } else { start };
            depth += 1;
        } else if piece.ends_with(MARKS[1]) {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                rendered.spans.push(start..rendered.text.len());
            }
        }
    }
    (depth == 0).then_some(rendered)
}

#[cfg(test)]
mod tests {
    use super::super::values::from_json;
    use super::*;

    const MESSAGES: &[u8] =
        br#"[{"role": "user", "content": "it's \u00e9\u200b"}, {"role": "assistant", "x": [1e-7, null]}]"#;

    fn rendered(source: &str) -> Result<Rendered, Error> {
        let template = Template::new(source, &from_json(b"{}").unwrap(), |format| Ok(format.to_owned()))?;
        let messages: Vec<Value> = from_json(MESSAGES).unwrap().try_iter()?.collect();
        template.render(&messages, &Value::from(()), false)
    }

    fn trained(source: &str) -> Vec<String> {
        let Rendered { text, spans } = rendered(source).unwrap();
        spans.into_iter().map(|span| text[span].to_owned()).collect()
    }

    #[test]
    fn blocks_are_found_in_loops_macros_and_filters() {
        let block = "{% generation %}{{ x }}{% endgeneration %}";
        assert_eq!(trained(&format!("é{{% for x in [1, 2] %}}a{block}{{% endfor %}}")), ["1", "2"]);
        assert_eq!(
            trained(&format!("{{% macro f(x) %}}a{block}b{{% endmacro %}}{{{{ f('é') }}}}{{{{ f(2) }}}}")),
            ["é", "2"]
        );
        assert_eq!(trained("{% filter upper %}a{% generation %}b{% endgeneration %}{% endfilter %}"), ["B"]);
        assert_eq!(trained("a {%- generation -%} b {%- endgeneration -%} c"), ["b"]);
        assert_eq!(trained("{# {% generation %} #}{{ '{% generation %}' }}"), [""; 0]);
    }

    #[test]
    fn template_that_drops_block_markers_is_an_error() {
        let error =
            rendered("{% set s %}{% generation %} a {% endgeneration %}{% endset %}{{ s | trim }}").unwrap_err();
        assert!(error.to_string().contains("Move it out of that block"), "{error}");
    }

    #[test]
    fn values_are_written_as_in_python() {
        let text = |source: &str| rendered(source).unwrap().text;
        assert_eq!(text("{{ messages[0] }}"), r#"{'role': 'user', 'content': "it's é\u200b"}"#);
        assert_eq!(text("{{ messages[1].x }}{{ true }}{{ 1e20 }}{{ (1,) }}"), "[1e-07, None]True1e+20(1,)");
        assert_eq!(
            text("{{ messages[1] | tojson(indent=1) }}"),
            "{\n \"role\": \"assistant\",\n \"x\": [\n  1e-07,\n  null\n ]\n}"
        );
        assert_eq!(text("{{ '\u{1c}a\u{85}'.strip() }}|{{ 'a,b,c'.rsplit(',', 1) }}"), "a|['a,b', 'c']");
    }

    #[test]
    fn values_are_ordered_as_in_python() {
        let text = |source: &str| rendered(&format!("{{{{ {source} }}}}")).unwrap().text;
        assert_eq!(
            text("{'{': 1, 'İ': 2, 'Ä': 3, 'ä': 4, 'Z': 5, 'ß': 6, 'ss': 7} | dictsort | map('first') | join"),
            "İssZ{ßÄä"
        );
        assert_eq!(text("{'a': 2, 'b': 1} | dictsort(by='value')"), "[('b', 1), ('a', 2)]");
        assert_eq!(text("['Ö', 'a', 'ä', 'B'] | sort(reverse=true) | join"), "ÖäBa");
        assert_eq!(text("[messages[1].x[0], 2, true, 0] | sort"), "[0, 1e-07, True, 2]");
        assert_eq!(
            text("[{'n': 'Ä', 'k': 1}, {'n': 'ä', 'k': 0}] | sort(attribute='n,k') | map(attribute='k') | join"),
            "01"
        );
        assert_eq!(text("['a', 'Ä', 'B', 'ä'] | max ~ ['b', 'A'] | min ~ [] | max"), "ÄA");
        assert!(rendered("{{ [1, 'a'] | sort }}").unwrap_err().to_string().contains("cannot be ordered"));
    }

    #[test]
    fn template_exceptions_become_errors_with_their_message() {
        let error = rendered("a\n{{ raise_exception('Roles must alternate') }}").unwrap_err();
        assert_eq!((error.detail(), error.line()), (Some("Roles must alternate"), Some(2)));
    }
}
