use super::*;

fn replaced(pattern: &str, rewrite: &str, text: &[u8]) -> Vec<u8> {
    let pattern = Pattern::new(pattern.as_bytes()).unwrap();
    pattern.replace(text, &Rewrite::new(rewrite.as_bytes()).unwrap(), true).unwrap().unwrap_or_else(|| text.to_vec())
}

fn misfit(pattern: &[u8]) -> String {
    let text = Pattern::new(pattern).map(drop).unwrap_err().message().to_owned();
    let start = format!("Invalid pattern: {}, error: ", excerpt(pattern));
    let text = text.strip_prefix(&start).unwrap().to_owned();
    let remedies = [SYNTAX, "Use fewer repetitions or a shorter pattern"].map(|remedy| format!(". {remedy}"));
    remedies.iter().find_map(|remedy| text.strip_suffix(remedy)).unwrap().to_owned()
}

#[test]
fn flags_apply_to_the_end_of_their_group() {
    assert_eq!(replaced("(?i)a(?-i)b", "x", b"Ab AB"), b"x AB");
    assert_eq!(replaced("((?i)a|b)c", "x", b"Bc BC"), b"x BC");
    assert_eq!(replaced("(?is:A.)b", "x", b"a\nb a\nB"), b"x a\nB");
    assert_eq!(replaced("(?U)a+b+?", "x", b"aabb"), b"x");
    assert_eq!(replaced("(?m)^a$", "x", b"a\na"), b"x\nx");
    assert_eq!(replaced("^a$", "x", b"a\na"), b"a\na");
    assert_eq!(replaced("a(?i)*", "x", b"aA"), b"xAx");
}

#[test]
fn classes_are_ascii_unless_they_name_unicode_properties() {
    assert_eq!(replaced(r"\d|\s", "x", "٣3\u{b} ".as_bytes()), "٣x\u{b}x".as_bytes());
    assert_eq!(replaced(r"(?i)\w", "x", "kK\u{212A}é".as_bytes()), "xxxé".as_bytes());
    assert_eq!(replaced(r"[^[:alpha:]\pN]", "x", "a٣é-".as_bytes()), "a٣xx".as_bytes());
    assert_eq!(replaced(r"\P{Greek}", "x", "aλ".as_bytes()), "xλ".as_bytes());
    assert_eq!(replaced(r"[]&&a~~-]", "x", b"]&a~-b"), b"xxxxxb");
    assert_eq!(replaced(r"\pC", "x", "a\u{378}\n".as_bytes()), "a\u{378}x".as_bytes());
}

#[test]
fn non_utf8_bytes_match_as_in_re2() {
    assert_eq!(replaced(".", "x", b"a\xff\xc3\xa9\xed\xa0\x80\xe0\x80\x80"), b"x\xffxxx");
    assert_eq!(replaced(r"\C", "x", b"\xff\xc3\xa9"), b"xxx");
    assert_eq!(replaced("[^\u{e9}]", "x", b"\xed\xa0\x80\xe0\x80\x80"), b"x\xe0\x80\x80");
    assert_eq!(replaced(r"\x{d800}|\xe9", "x", b"\xed\xa0\x80\xc3\xa9\xe9"), b"xx\xe9");
    assert_eq!(replaced("", "-", b"\xc3\xa9\xe0\x80\xf5"), b"-\xc3\xa9-\xe0-\x80-\xf5-");
    assert_eq!(replaced("", "-", b"\xed\xa0\x80\xc0\x80\xc3"), b"-\xed\xa0\x80-\xc0-\x80-\xc3-");
}

#[test]
fn groups_that_did_not_match_are_empty() {
    assert_eq!(replaced("(a)|(?P<name>b)", r"<\1\2>", b"ab"), b"<a><b>");
    assert_eq!(replaced("(a){0}(b)", r"<\1\2>", b"b"), b"<b>");
    assert_eq!(replaced("((((((((((a))))))))))", r"\9\0", b"a"), b"aa");
    assert_eq!(replaced("(a)", r"\2", b"a"), b"a");
}

#[test]
fn error_messages_match_re2() {
    for (pattern, text) in [
        ("(a", "missing ): (a"),
        ("a)", "unexpected ): a)"),
        ("[a", "missing ]: [a"),
        ("[z-a]", "invalid character class range: z-a"),
        ("[[:no:]]", "invalid character class range: [:no:]"),
        (r"\p{greek}", r"invalid character class range: \p{greek}"),
        (r"\p{L", r"invalid character class range: \p{L"),
        (r"\p", r"invalid character class range: \p"),
        (r"\", r"trailing \"),
        (r"\1", r"invalid escape sequence: \1"),
        (r"a\Z", r"invalid escape sequence: \Z"),
        (r"\x{110000}", r"invalid escape sequence: \x{110000"),
        (r"\xg", r"invalid escape sequence: \xg"),
        ("*a", "no argument for repetition operator: *"),
        ("a|*", "no argument for repetition operator: *"),
        ("a**", "bad repetition operator: **"),
        ("a{2}{3}", "bad repetition operator: {2}{3}"),
        ("a{2,1}", "invalid repetition size: {2,1}"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("(a{100}){100}", "invalid repetition size: {100}"),
        ("(?=a)", "invalid perl operator: (?="),
        ("(?<n>a)", "invalid perl operator: (?<"),
        ("(?i-)", "invalid perl operator: (?i-)"),
        ("(?i", "invalid perl operator: (?i"),
        ("(?P<n n>a)", "invalid named capture group: (?P<n n>"),
        ("(?P<n", "invalid named capture group: (?P<n"),
    ] {
        assert_eq!(misfit(pattern.as_bytes()), text, "{pattern}");
    }
    assert_eq!(misfit(b"\xff"), "invalid UTF-8");
}

#[test]
fn patterns_that_need_too_much_memory_are_rejected() {
    assert_eq!(misfit(b"(a{1000}){1000}"), "invalid repetition size: {1000}");
    assert_eq!(misfit(br"\pL{1000}"), TOO_LARGE);
    assert_eq!(misfit(&vec![b'a'; MAX_PATTERN_BYTES + 1]), TOO_LARGE);
    let nested = |depth: usize| ["(".repeat(depth), "a".into(), ")".repeat(depth)].concat();
    assert_eq!(misfit(nested(101).as_bytes()), "expression nests more than 100 levels deep");
    assert_eq!(misfit(&[b'('; 100_000]), "expression nests more than 100 levels deep");
    assert_eq!(replaced(&nested(100), "x", b"a"), b"x");
    assert_eq!(misfit(format!("a{}", r"*\Q\E".repeat(101)).as_bytes()), "expression nests more than 100 levels deep");
    assert_eq!(replaced(&format!("a{}", r"*\Q\E".repeat(100)), "x", b"aab"), b"xbx");
}

#[test]
fn full_match_requires_the_whole_string() {
    let matches = |pattern: &str, text: &[u8]| WholePattern::new(pattern.as_bytes()).unwrap().matches(text);
    assert!(matches("a|ab", b"ab") && matches("", b"") && matches("(?i)a.", "A\u{e9}".as_bytes()));
    assert!(!matches("a", b"ab") && !matches("a|b", b"cb") && !matches(".", b"\n") && !matches("a$", b"a\n"));
}
