//! `WWW-Authenticate`: is a 401 worth another token (AUTH-04)?

/// Whether no Bearer challenge names an error other than `invalid_token`.
pub(super) fn may_be_retried<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    values.flat_map(bearer_errors).all(|error| error.eq_ignore_ascii_case("invalid_token"))
}

/// The `error` parameters of the Bearer challenges in one header value.
fn bearer_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut in_bearer = false;
    for item in split_outside_quotes(value) {
        let (word, rest) = split_word(item);
        // `name = value` belongs to the challenge before it; anything else starts the next one.
        let parameter = if rest.starts_with('=') {
            (word, rest)
        } else {
            in_bearer = word.eq_ignore_ascii_case("Bearer");
            split_word(rest)
        };
        let (name, value) = parameter;
        if let Some(value) =
            value.strip_prefix('=').filter(|_| in_bearer && name.eq_ignore_ascii_case("error"))
        {
            errors.push(unquote(value.trim()));
        }
    }
    errors
}

/// The word at the front and what follows it, both without spaces around.
fn split_word(item: &str) -> (&str, &str) {
    let item = item.trim();
    let end = item.find(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or(item.len());
    let (word, rest) = item.split_at(end);
    (word, rest.trim())
}

fn split_outside_quotes(value: &str) -> Vec<&str> {
    let (mut items, mut start) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in value.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                items.push(value.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(value.get(start..).unwrap_or_default());
    items
}

fn unquote(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else { return value.to_owned() };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut escaped = false;
    let kept = inner.chars().filter(|&c| {
        escaped = c == '\\' && !escaped;
        !escaped
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auth_04_only_invalid_token_or_no_bearer_error_is_retried() {
        let cases: [(&[&str], bool); 16] = [
            (&[], true),
            (&["Bearer"], true),
            (&["Basic realm=\"x\""], true),
            (&["Bearer realm=\"questdb\""], true),
            (&["Bearer error=\"invalid_token\""], true),
            (&["bearer realm=\"a, error=\\\"x\\\"\", ERROR = invalid_token"], true),
            (&["Bearer error=\"insufficient_scope\""], false),
            (&["Bearer realm=\"x\", error=insufficient_scope"], false),
            (&["Bearer realm=\"x\" , error = \"invalid_request\", scope=\"a b\""], false),
            (&["Basic realm=\"x\", Bearer error=\"invalid_request\""], false),
            (&["Basic realm=\"x\", error=\"invalid_request\""], true),
            (&["Bearer realm=\"x\", Basic error=\"invalid_request\""], true),
            (&["Basic realm=\"x\"", "Bearer error=\"invalid_request\""], false),
            (&["Bearer error=\"invalid_token\", Bearer error=\"insufficient_scope\""], false),
            (&["Negotiate dG9rZW4=, Bearer error=\"insufficient_scope\""], false),
            (&[",, Bearer ,error=\"insufficient_scope"], false),
        ];
        for (values, expected) in cases {
            assert_eq!(may_be_retried(values.iter().copied()), expected, "{values:?}");
        }
    }

    #[test]
    fn quoted_values_lose_their_escapes() {
        assert_eq!(unquote(r#""a\"b\\c""#), r#"a"b\c"#);
        assert_eq!(unquote("plain"), "plain");
    }
}
