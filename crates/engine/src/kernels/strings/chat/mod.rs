//! `Chat`: the tokens of a conversation, rendered by a chat template, and which of them are
//! trained.
//!
//! The template is rendered by the crate `minijinja`. The tokens and the mask are the same as from
//! `apply_chat_template(return_assistant_tokens_mask=True)` of transformers.

mod conversation;
mod generation;
mod json;
mod methods;
mod sorting;
mod template;
mod values;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::strings::tokenize::{TokenizerFile, cached_tokenizer};
use crate::kernels::strings::word_tokens::{Encoded, WordTokenizer};
use crate::run::{Run, catch_library_panic};
use crate::sync::Arc;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use chrono::{Local, NaiveDateTime};
use conversation::{last_answer, messages, without_last_turn};
use minijinja::Value;
use std::fmt::Write;
use std::ops::Range;
use template::{Rendered, Template};
use values::from_json;

/// The maximum memory of the crates per byte of JSON or text, as for `tokenize`.
const BYTES_FOR_BYTE: usize = 250;

/// `(messages, tools, completion)`, scalar strings of JSON, to the int32 tokens of the conversation
/// and a float32 weight of the loss for each. An empty string means a missing argument.
pub struct Chat {
    path: String,
    template_name: String,
    tokenizer: Arc<WordTokenizer>,
    template: Template,
    loss: Loss,
    adds_prompt: bool,
    max_length: usize,
}

/// The tokens whose loss counts.
#[derive(Clone, Copy, PartialEq)]
enum Loss {
    /// Those in `{% generation %}` blocks.
    Assistant,
    /// All.
    All,
    /// The tokens of the last message of the assistant.
    Last,
    /// The tokens of the completion.
    Completion,
}

impl Chat {
    /// The kernel for an operation with these attributes. Fails if the tokenizer or the template is
    /// invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Self::new(attrs.bytes("path")?, attrs.bytes("content")?)
    }

    /// The kernel for the folder of a tokenizer and the attribute `content`.
    pub fn new(path: &[u8], content: &[u8]) -> Result<Self> {
        let path = String::from_utf8_lossy(path).into_owned();
        let broken = |error: serde_json::Error| Error::internal(format!("chat: {path}: {error}"));
        let content: Content<'_> = serde_json::from_slice(content).map_err(broken)?;
        let loss = match content.loss {
            "assistant" => Loss::Assistant,
            "all" => Loss::All,
            "last" => Loss::Last,
            "completion" => Loss::Completion,
            other => return Err(Error::internal(format!("chat: loss is '{other}'"))),
        };
        let file = TokenizerFile { op: "chat", path: &path, content: content.tokenizer.as_bytes() };
        let tokenizer = cached_tokenizer(&file, (false, false))?;
        let variables = from_json(content.variables.get().as_bytes()).map_err(broken)?;
        let now = content.now.map_or_else(
            || Ok(Local::now().naive_local()),
            |now| {
                now.parse::<NaiveDateTime>().map_err(|error| Error::internal(format!("chat: now is '{now}': {error}")))
            },
        )?;
        let template_name = content.template_name.to_owned();
        let template =
            Template::new(&content.template, &variables, move |format| strftime(now, format)).map_err(|error| {
                Error::invalid_argument(format!("chat: {path}: the template '{template_name}' is invalid: {error}"))
            })?;
        if loss == Loss::Assistant && !template.has_blocks() {
            return Err(Error::invalid_argument(format!(
                "chat: {path}: the template '{template_name}' has no {{% generation %}} blocks, so the tokens that the \
                 assistant generated are unknown. Use a template for training that has them, or pass loss=\"last\" or \
                 loss=\"all\""
            )));
        }
        Ok(Self {
            path,
            template_name,
            tokenizer,
            template,
            loss,
            adds_prompt: content.add_generation_prompt,
            max_length: content.max_length.unwrap_or(usize::MAX),
        })
    }

    /// The special token that follows the text of the assistant and isn't trained; `None` if there
    /// is none, or if the template rejects an ordinary conversation.
    pub fn untrained_end_of_turn(&self) -> Option<String> {
        let turns = br#"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]"#;
        let rendered = self.render(&messages("messages", turns).ok()?, &Value::from(()), false).ok()?;
        let end = rendered.spans.last()?.end;
        let encoded = self.encode(&rendered.text).ok()?;
        let next = encoded.offsets.iter().position(|(start, _)| *start >= end)?;
        let tokenizer = self.tokenizer.library();
        let token = tokenizer.id_to_token(encoded.ids[next])?;
        tokenizer.get_added_vocabulary().is_special_token(&token).then_some(token)
    }

    /// The tokens of a conversation, and the weights of their losses.
    fn tokens(&self, inputs: [&Bytes; 3]) -> Result<(Vec<u32>, Vec<f32>)> {
        let [conversation, tools, completion] = inputs;
        probe(inputs.iter().map(|input| input.len()).sum())?;
        let tools = conversation::tools(tools)?;
        let mut messages = messages("messages", conversation)?;
        let num_prompt = messages.len();
        if self.loss == Loss::Completion {
            messages.extend(conversation::messages("completion", completion)?);
        }
        loop {
            let rendered = self.render(&messages, &tools, self.adds_prompt)?;
            let encoded = self.encode(&rendered.text)?;
            if encoded.ids.len() <= self.max_length {
                let weights = match self.loss {
                    Loss::Assistant => encoded.overlap(&rendered.spans),
                    Loss::All => encoded.inside(0..encoded.ids.len()),
                    Loss::Completion => {
                        let start = self.common_start(&rendered, &encoded, &messages[..num_prompt], &tools)?;
                        encoded.inside(start..encoded.ids.len())
                    }
                    Loss::Last => {
                        let trained = self.last(&rendered, &encoded, &messages, &tools)?;
                        encoded.inside(trained)
                    }
                }
                .map_err(|refusal| refusal.at("chat"))?;
                if !weights.contains(&1.0) {
                    return Err(Error::invalid_argument(
                        "chat: no token of the conversation is trained, expected at least one. Remove it, or let \
                         skip_errors skip it",
                    ));
                }
                return Ok((encoded.ids, weights));
            }
            if !without_last_turn(&mut messages) {
                return Err(Error::invalid_argument(format!(
                    "chat: the first turn of the conversation has {} tokens, expected at most max_length={}. Pass a \
                     larger max_length, or let skip_errors skip it",
                    encoded.ids.len(),
                    self.max_length
                )));
            }
        }
    }

    /// The indices of the tokens of the last message of the assistant.
    fn last(&self, rendered: &Rendered, encoded: &Encoded, messages: &[Value], tools: &Value) -> Result<Range<usize>> {
        let index = last_answer(messages).ok_or_else(|| {
            Error::invalid_argument(
                "chat: the conversation has no message from the assistant, expected at least one for loss=\"last\". Remove \
                 it, or let skip_errors skip it",
            )
        })?;
        let start = self.common_start(rendered, encoded, &messages[..index], tools)?;
        let end = if index + 1 == messages.len() && !self.adds_prompt {
            encoded.ids.len()
        } else {
            let answered = self.render(&messages[..=index], tools, false)?;
            num_common(&self.encode(&answered.text)?.ids, &encoded.ids)
        };
        Ok(start..end)
    }

    /// The index of the first token of the text that is not of these first messages and the prompt
    /// for an answer.
    fn common_start(&self, rendered: &Rendered, encoded: &Encoded, before: &[Value], tools: &Value) -> Result<usize> {
        if before.is_empty() {
            return Err(Error::invalid_argument(
                "chat: the conversation begins with the assistant, expected another message before it. Remove it, or \
                 let skip_errors skip it",
            ));
        }
        let prompt = self.render(before, tools, true)?.text;
        let without = self.render(before, tools, false)?.text;
        let num_bytes = |other: &str| num_common(prompt.as_bytes(), other.as_bytes());
        if num_bytes(&rendered.text) < num_bytes(&without) {
            return Err(Error::invalid_argument(format!(
                "chat: the template '{}' renders earlier messages differently once an answer follows, so the tokens of \
                 the answer cannot be found. Use a template for training that does not, such as those of TRL",
                self.template_name
            )));
        }
        Ok(num_common(&self.encode(&prompt)?.ids, &encoded.ids))
    }

    fn render(&self, messages: &[Value], tools: &Value, adds_prompt: bool) -> Result<Rendered> {
        self.template.render(messages, tools, adds_prompt).map_err(|error| {
            let line = error.line().map_or_else(String::new, |line| format!(" (line {line} of the template)"));
            let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            Error::invalid_argument(format!(
                "chat: {}: the template '{}' cannot render the conversation: {reason}{line}",
                self.path, self.template_name
            ))
        })
    }

    fn encode(&self, text: &str) -> Result<Encoded> {
        probe(text.len())?;
        let failed = |reason: String| {
            Error::invalid_argument(format!("chat: {}: the conversation cannot be tokenized: {reason}", self.path))
        };
        // Oniguruma panics if a pattern takes too long.
        catch_library_panic(|| self.tokenizer.encode(text)).map_err(failed)?.map_err(|error| failed(error.to_string()))
    }
}

impl Encoded {
    /// The weights that are 1 for tokens that overlap spans of the text, as in transformers.
    fn overlap(&self, spans: &[Range<usize>]) -> std::result::Result<Vec<f32>, allocate::Refusal> {
        let mut spans = spans.iter().peekable();
        allocate::collected(
            self.offsets.len(),
            self.offsets.iter().map(|(start, end)| {
                while spans.next_if(|span| *start >= span.end).is_some() {}
                if spans.peek().is_some_and(|span| *end > span.start) { 1.0 } else { 0.0 }
            }),
        )
    }

    /// The weights that are 1 for these tokens.
    fn inside(&self, trained: Range<usize>) -> std::result::Result<Vec<f32>, allocate::Refusal> {
        let weights = (0..self.ids.len()).map(|index| if trained.contains(&index) { 1.0 } else { 0.0 });
        allocate::collected(self.ids.len(), weights)
    }
}

impl Kernel for Chat {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [messages, tools, completion] = expect_inputs(&inputs)?;
        let texts = [messages.string_scalar("messages")?, tools.string_scalar("tools")?];
        let (ids, weights) = self.tokens([texts[0], texts[1], completion.string_scalar("completion")?])?;
        let shape = Shape::new(&[ids.len()]);
        let mut tokens = allocate::room(ids.len()).map_err(|refusal| refusal.at("chat"))?;
        for id in ids {
            tokens.push(i32::try_from(id).map_err(|_| {
                Error::invalid_argument(format!("chat: {}: the token ID {id} does not fit into int32", self.path))
            })?);
        }
        let mut outputs = Outputs::new();
        outputs.push(Tensor::from_values(shape.clone(), tokens)?);
        outputs.push(Tensor::from_values(shape, weights)?);
        Ok(Step::Done(outputs))
    }
}

/// The attribute `content`: everything that the results depend on, apart from the inputs.
#[derive(serde::Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    tokenizer: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    template: std::borrow::Cow<'a, str>,
    template_name: String,
    variables: &'a serde_json::value::RawValue,
    loss: &'a str,
    add_generation_prompt: bool,
    max_length: Option<usize>,
    now: Option<&'a str>,
}

/// Fails if there is no memory for so many bytes of text. The crates end the process then.
fn probe(num_bytes: usize) -> Result<()> {
    allocate::probe(num_bytes.saturating_mul(BYTES_FOR_BYTE)).map_err(|refusal| refusal.at("chat"))
}

/// The number of equal items at the start of both.
fn num_common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Python's `datetime.strftime`.
fn strftime(now: NaiveDateTime, format: &str) -> std::result::Result<String, minijinja::Error> {
    let mut text = String::new();
    write!(text, "{}", now.format(format)).map_err(|_| {
        let detail = format!("strftime_now: the format '{format}' is invalid");
        minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, detail)
    })?;
    Ok(text)
}
