//! Round trips, and errors with their position.

use super::{ParseErrorKind, parse_function, parse_shader, print_function, print_shader};
use crate::ir::validate::validate;

/// Every kind of declaration, statement and operand.
const EVERYTHING: &str = include_str!("../../../tests/fixtures/text/everything.ir");

#[test]
fn everything_round_trips_and_is_valid() {
    let shader = parse_shader(EVERYTHING).unwrap_or_else(|e| panic!("{e}"));
    validate(&shader).unwrap_or_else(|e| panic!("{e}"));
    let once = print_shader(&shader);
    let again = parse_shader(&once).unwrap_or_else(|e| panic!("{e}\n{once}"));
    assert_eq!(print_shader(&again), once);
    assert_eq!(again, shader, "dense numbering keeps every handle");
    assert!(once.contains("0x7fc00001"), "NaN bits are exact");
    assert!(once.contains("-0.0"));
}

#[test]
fn printing_forgets_dead_arena_entries() {
    let text = "func fn0 \"f\"() -> (f32) {\n    %0: f32 = const 1.0\n    %1: f32 = const 2.0\n    return %1\n}\n";
    let mut function = parse_function(text).expect("valid text");
    function.body.remove(0);
    let printed = print_function(&function);
    assert_eq!(
        printed,
        "func fn0 \"f\"() -> (f32) {\n    %0: f32 = const 2.0\n    return %0\n}\n"
    );
}

#[test]
fn errors_name_line_and_column() {
    let cases: &[(&str, usize, usize)] = &[
        ("func fn0 \"f\"() -> () {\n  %0: f32 = fadd %1, %1\n}", 2, 18),
        ("func fn0 \"f\"() -> () {\n  nonsense\n}", 2, 3),
        ("func fn0 \"f\"() -> () {\n  %0: f33 = const 1.0\n}", 2, 7),
        ("func fn0 \"f\"() -> () {\n  %0: u32 = const -1\n}", 2, 19),
        ("func fn0 \"f() -> () {", 1, 10),
        ("func fn0 \"f\"() -> () {\n  break L0\n}", 2, 9),
        ("func fn0 \"f\"() -> () {\n  # \n}", 2, 3),
        ("func fn0 \"f\"() -> () {\n  %0: f32 = buffer.load(r0, zero)\n}", 2, 13),
        ("func fn0 \"f\"() -> () {\n  discard\n", 3, 1),
    ];
    for (text, line, column) in cases {
        let error = parse_function(text).expect_err(text);
        assert_eq!((error.line, error.column), (*line, *column), "{text}\n{error}");
    }
}

#[test]
fn nesting_is_limited() {
    let mut text = String::from("func fn0 \"f\"(%0: bool) -> () {");
    text.push_str(&"if %0 {".repeat(100_000));
    let error = parse_function(&text).expect_err("too deep");
    assert_eq!(error.kind, ParseErrorKind::Nesting);
}

#[test]
fn truncated_text_is_an_error_everywhere() {
    let end = EVERYTHING.trim_end().len();
    for cut in (0..end).step_by(7) {
        if let Some(text) = EVERYTHING.get(..cut) {
            assert!(parse_shader(text).is_err(), "cut at {cut}");
        }
    }
}
