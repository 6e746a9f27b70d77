//! Statements as trees, so that one that two servers answer differently can be made smaller.
//!
//! # Invariants
//! 1. A node's text is its template with its parts in place of the marks.
//! 2. A smaller tree is made by putting one of a node's descendants of the same sort, or the sort's simplest text, in its place: what comes out may be no valid
//!    statement, which then both servers refuse alike.

/// Marks the place of a part in a template.
pub const MARK: char = '\u{1}';

/// What may stand in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// An expression.
    Scalar,
    /// One or more expressions, separated by commas.
    List,
    /// A clause that may be left out.
    Clause,
    /// A query that may stand in parentheses.
    Query,
    /// Anything else: stays as it is.
    Fixed,
}

impl Sort {
    fn simplest(self) -> &'static [&'static str] {
        match self {
            Sort::Scalar => &["NULL", "1", "'a'"],
            Sort::List => &["1"],
            Sort::Clause => &[""],
            Sort::Query => &["SELECT 1"],
            Sort::Fixed => &[],
        }
    }
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it may take the place of.
    pub sort: Sort,
    /// Text, with a mark for each part.
    pub template: String,
    /// Its parts.
    pub parts: Vec<Node>,
}

impl Node {
    /// A node with parts.
    pub fn new(sort: Sort, template: impl Into<String>, parts: Vec<Node>) -> Node {
        Node { sort, template: template.into(), parts }
    }

    /// A node without parts.
    pub fn leaf(sort: Sort, text: impl Into<String>) -> Node {
        Node::new(sort, text, Vec::new())
    }

    /// Expressions separated by commas, any of which may be left out.
    pub fn list(items: Vec<Node>) -> Node {
        let mut items = items.into_iter();
        let first = items.next().unwrap_or_else(|| Node::leaf(Sort::Scalar, "1"));
        let first = Node::new(Sort::List, MARK.to_string(), vec![first]);
        items.fold(first, |list, item| {
            let item = Node::new(Sort::List, MARK.to_string(), vec![item]);
            Node::new(Sort::List, format!("{MARK}, {MARK}"), vec![list, item])
        })
    }

    /// The statement's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        let mut parts = self.parts.iter();
        for character in self.template.chars() {
            match character {
                MARK => {
                    if let Some(part) = parts.next() {
                        part.write(text);
                    }
                }
                character => text.push(character),
            }
        }
    }

    /// What it does, for counting differences of one kind together: the names of its functions and operators and the words of
    /// its frame, without its values.
    pub fn labels(&self) -> Vec<String> {
        let mut labels = Vec::new();
        self.collect_labels(&mut labels);
        labels.sort();
        labels.dedup();
        labels
    }

    fn collect_labels(&self, labels: &mut Vec<String>) {
        if !self.parts.is_empty() && self.sort == Sort::Scalar {
            labels.push(self.template.replace(MARK, "_"));
        }
        if self.sort == Sort::Fixed {
            // Of a statement's frame its key words, not its tables and columns.
            let words = self.template.split(|c: char| !c.is_ascii_alphabetic());
            labels.push(
                words.filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())).collect::<Vec<_>>().join(" "),
            );
        }
        for part in &self.parts {
            part.collect_labels(labels);
        }
    }

    /// Nodes in it.
    pub fn size(&self) -> usize {
        1 + self.parts.iter().map(Node::size).sum::<usize>()
    }

    /// Smaller trees, those that leave out most first.
    pub fn smaller(&self) -> Vec<Node> {
        let mut found: Vec<Node> = Vec::new();
        self.replacements(&mut |node| found.push(node));
        found.sort_by_key(Node::size);
        found
    }

    /// Calls `found` with each tree that differs in one place.
    fn replacements(&self, found: &mut dyn FnMut(Node)) {
        for text in self.sort.simplest() {
            if self.size() > 1 || (self.sort != Sort::Clause && self.template.len() > text.len() && self.template != *text) {
                found(Node::leaf(self.sort, *text));
            }
        }
        let mut below = Vec::new();
        self.below(self.sort, &mut below);
        for node in below {
            found(node.clone());
        }
        for (at, part) in self.parts.iter().enumerate() {
            part.replacements(&mut |smaller| {
                let mut copy = self.clone();
                copy.parts[at] = smaller;
                found(copy);
            });
        }
    }

    fn below<'n>(&'n self, sort: Sort, found: &mut Vec<&'n Node>) {
        for part in &self.parts {
            if part.sort == sort {
                found.push(part);
            }
            part.below(sort, found);
        }
    }
}

/// Makes a tree as small as it gets while `differs` says yes, with at most `tries` questions.
pub fn shrink(node: Node, mut tries: usize, differs: &mut dyn FnMut(&Node) -> bool) -> Node {
    let mut best = node;
    'again: loop {
        for candidate in best.smaller() {
            let gain = candidate.size() < best.size() || candidate.text().len() < best.text().len();
            if !gain {
                continue;
            }
            if tries == 0 {
                return best;
            }
            tries -= 1;
            if differs(&candidate) {
                best = candidate;
                continue 'again;
            }
        }
        return best;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(template: &str, parts: Vec<Node>) -> Node {
        Node::new(Sort::Scalar, template.replace('%', "\u{1}"), parts)
    }

    #[test]
    fn what_does_not_matter_goes() {
        let bad = scalar("BAD(%)", vec![Node::leaf(Sort::Scalar, "12345")]);
        let tree = Node::new(
            Sort::Fixed,
            "SELECT \u{1}\u{1}",
            vec![
                scalar("(% + %)", vec![scalar("ABS(%)", vec![bad]), Node::leaf(Sort::Scalar, "7")]),
                Node::new(Sort::Clause, " WHERE \u{1}", vec![Node::leaf(Sort::Scalar, "a > 1")]),
            ],
        );
        let small = shrink(tree, 1000, &mut |node| node.text().contains("BAD("));
        assert_eq!(small.text(), "SELECT BAD(1)");
    }

    #[test]
    fn tries_are_bounded() {
        let mut asked = 0;
        let tree = scalar("f(%, %)", vec![scalar("g(%)", vec![Node::leaf(Sort::Scalar, "100")]), Node::leaf(Sort::Scalar, "200")]);
        shrink(tree, 3, &mut |_| {
            asked += 1;
            false
        });
        assert_eq!(asked, 3);
    }
}
