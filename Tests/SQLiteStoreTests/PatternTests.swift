import Testing

@testable import SQLiteStore

/// Regular expressions of filters, by themselves.
@Suite struct PatternTests {
    static let examples: [(pattern: String, text: String, isMatch: Bool)] = [
        // Characters, anywhere in the text, and its ends.
        ("a", "xay", true), ("a", "b", false), ("", "", true), ("ab", "xaby", true), ("ab", "axb", false),
        ("^a", "ba", false), ("a$", "ab", false), ("^$", "", true), ("^$", "a", false), ("a{", "a{", true),
        (".", "a", true), (".", "\n", false), (".", "\u{2028}", false), (".", "\u{10FFFF}", true),
        // Alternatives, groups and how often.
        ("^(a|b|c)$", "c", true), ("^(a|b|c)$", "d", false), ("^(a|)$", "", true), ("a|b", "xb", true),
        ("^a*$", "", true), ("^a*$", "aaa", true), ("^a*$", "aab", false), ("^a+$", "", false), ("^a+?$", "aa", true),
        ("^a?$", "a", true), ("^a?$", "aa", false), ("^a{2}$", "aa", true), ("^a{2}$", "aaa", false),
        ("^a{2,3}$", "a", false), ("^a{2,3}$", "aa", true), ("^a{2,3}$", "aaa", true), ("^a{2,3}$", "aaaa", false),
        ("^a{2,}$", "a", false), ("^a{2,}$", "aaaaa", true), ("^a{0}$", "", true), ("^a{0}$", "a", false),
        ("^(ab|cd)*$", "abcdab", true), ("^(ab|cd)*$", "abcda", false), ("^(?:ab)+c$", "ababc", true),
        ("^(a*)*b$", "aaab", true), ("^(a|b)*?c$", "abac", true), ("^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false),
        // Classes.
        ("^[a-c]$", "b", true), ("^[a-c]$", "d", false), ("^[^a-c]$", "b", false), ("^[^a-c]$", "d", true),
        ("^[a-]$", "-", true), ("^[a-]$", "b", false), ("[]", "a", false), ("^[^]$", "a", true),
        ("^[\\d-x]$", "-", true), ("^[\\d-x]$", "5", true), ("^[\\d-x]$", "a", false), ("^[\\w-z]$", "-", true),
        ("^[\\D]$", "5", false), ("^[\\D]$", "a", true), ("^[^\\D]$", "5", true), ("^[\\W_]$", "_", true),
        ("^[\\W_]$", "a", false), ("^[\\W_]$", " ", true), ("^[\\S]$", "\u{A0}", false),
        ("^[\\S]$", "\u{10FFFF}", true),
        ("^[\\D]$", "/", true), ("^[\\D]$", ":", true), ("[\\b]", "\u{8}", true), ("[\\]]", "]", true),
        // Escapes.
        ("^\\d$", "0", true), ("^\\D$", "0", false), ("^\\w$", "_", true), ("^\\W$", "_", false),
        ("^\\s$", "\u{3000}", true), ("^\\S$", "\u{3000}", false), ("\\.", "a", false), ("\\.", ".", true),
        ("^\\n\\r\\t$", "\n\r\t", true), ("^\\u0041\\x42$", "AB", true),
        ("\\bfoo\\b", "a foo b", true), ("\\bfoo\\b", "afoo", false), ("\\bfoo\\b", "food", false),
        ("\\Boo", "foo", true), ("\\Bfoo", "foo", false),
    ]

    @Test(arguments: examples)
    func `a pattern is found where ECMAScript finds it`(pattern: String, text: String, isMatch: Bool) throws {
        #expect(try #require(Pattern.compiled(pattern)).matches(text) == isMatch)
        // From the cache.
        #expect(Pattern.compiled(pattern)?.matches(text) == isMatch)
    }

    @Test(arguments: [
        "(", ")", "a)", "(a", "*", "+a", "a**", "a{2}{3}", "a{3,2}", "a{1001}", "a{2,1001}", "[a", "[b-a]", "[a-\\d]",
        "\\", "\\1", "\\k", "(?=a)", "\\u12", "\\uD800", "\\xg0", "[\\q]",
    ])
    func `what is no pattern of this kind is none`(text: String) {
        #expect(Pattern.compiled(text) == nil)
    }

    @Test func `a pattern has limits of its depth and of its size`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "a" + String(repeating: ")", count: depth)
        }
        #expect(Pattern.compiled(nested(PatternParser.maximumDepth))?.matches("a") == true)
        #expect(Pattern.compiled(nested(PatternParser.maximumDepth + 1)) == nil)
        // With the instruction that ends it.
        #expect(Pattern.compiled("(a{1000}){4}a{95}")?.program.count == Pattern.maximumSize)
        #expect(Pattern.compiled("(a{1000}){4}a{96}") == nil)
    }

    @Test func `a class of one character named often is one range`() throws {
        let pattern = try #require(Pattern.compiled("^[\(String(repeating: "a", count: 4_000))b-dz]$"))
        #expect(pattern.program.contains(.one(CharacterSet(ranges: [0x61...0x64, 0x7A...0x7A]))))
        for (text, isMatch) in [("a", true), ("d", true), ("z", true), ("e", false), ("", false)] {
            #expect(pattern.matches(text) == isMatch)
        }
        #expect(Pattern.compiled(String(repeating: "a?", count: Pattern.maximumBytes / 2 + 1)) == nil)
    }

    @Test func `more patterns than are kept mean the same`() {
        for number in 0..<200 { #expect(Pattern.compiled("^\(number)$")?.matches("\(number)") == true) }
    }
}
