//! Conversations: lists of messages, as a chat template gets them.
//!
//! Source: `_normalize_chat_messages` and `_alias_reasoning_fields` of transformers.

use super::values::{Dict, List, from_json};
use crate::error::{Error, Result};
use minijinja::Value;
use std::sync::Arc;

/// The names of a message's reasoning; templates read the first one.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The messages of a conversation in JSON, without keys that are null. `name` is the argument.
pub fn messages(name: &str, text: &[u8]) -> Result<Vec<Value>> {
    let value = parsed(name, text)?;
    let unexpected = |what: String| {
        Error::invalid_argument(format!(
            "chat: {name} is {what}, expected a list of dicts with 'role' and 'content'. Read the column as hr.Json, or \
             write the messages in this form"
        ))
    };
    let list = value.downcast_object_ref::<List>().ok_or_else(|| unexpected(kind(&value)))?;
    if list.0.is_empty() {
        return Err(Error::invalid_argument(format!(
            "chat: {name} has no messages, expected at least one. Remove the conversation, or let skip_errors skip it"
        )));
    }
    let message = |message: &Value| match message.downcast_object_ref::<Dict>() {
        Some(dict) => Ok(normalized(dict)),
        None => Err(unexpected(format!("a list with {}", kind(message)))),
    };
    list.0.iter().map(message).collect()
}

/// The schemas of functions in JSON; none if the text is empty.
pub fn tools(text: &[u8]) -> Result<Value> {
    if text.is_empty() {
        return Ok(Value::from(()));
    }
    let value = parsed("tools", text)?;
    let is_valid = value.is_none()
        || value
            .downcast_object_ref::<List>()
            .is_some_and(|list| list.0.iter().all(|tool| tool.downcast_object_ref::<Dict>().is_some()));
    if is_valid {
        return Ok(value);
    }
    Err(Error::invalid_argument(format!(
        "chat: tools is {}, expected a list of JSON schemas (dicts), or null. Write the tools in this form",
        kind(&value)
    )))
}

/// The index of the last message of the assistant.
pub fn last_answer(messages: &[Value]) -> Option<usize> {
    messages.iter().rposition(|message| role(message) == "assistant")
}

/// Removes the last turn: the user's last message and all messages after it. Returns false if
/// nothing would be left but the messages before a first turn.
pub fn without_last_turn(messages: &mut Vec<Value>) -> bool {
    let is_start = |message: &Value| role(message) == "user";
    let Some(last) = messages.iter().rposition(is_start) else { return false };
    let has_earlier = messages[..last].iter().any(is_start);
    if has_earlier {
        messages.truncate(last);
    }
    has_earlier
}

fn role(message: &Value) -> String {
    message.get_attr("role").ok().and_then(|role| role.as_str().map(str::to_owned)).unwrap_or_default()
}

fn parsed(name: &str, text: &[u8]) -> Result<Value> {
    from_json(text).map_err(|error| {
        Error::invalid_argument(format!(
            "chat: {name} is not valid JSON: {error}. Read the column as hr.Json, or pass the text of a JSON list"
        ))
    })
}

fn normalized(message: &Dict) -> Value {
    let mut entries = message.0.clone();
    entries.retain(|_, value| !value.is_none());
    if let Some(reasoning) = REASONING.iter().find_map(|name| entries.get(*name)).cloned() {
        if !entries.contains_key("thinking") {
            entries.insert(Arc::from("thinking"), reasoning.clone());
        }
        if let Some(index) = entries.get_index_of("thinking") {
            entries.move_index(index, 0);
        }
        entries.insert(Arc::from("reasoning_content"), reasoning);
    }
    Value::from_object(Dict(entries))
}

fn kind(value: &Value) -> String {
    if value.is_none() { "null".to_owned() } else { format!("a {}", value.kind()) }
}
