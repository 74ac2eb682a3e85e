import CommandLineSupport
import Testing

/// Passwords as they are asked for.
@Suite struct PromptTests {
    /// Answers one after the other, and remembers what was asked.
    private func agreed(twice: Bool, _ answers: String?...) throws -> (password: String, asked: [String]) {
        var (rest, asked) = (answers[...], [String]())
        let password = try PasswordPrompt.askPassword(twice: twice) { question in
            asked.append(question)
            return rest.popFirst() ?? nil
        }
        return (password, asked)
    }

    @Test func `a new password is asked for twice, another once`() throws {
        #expect(try agreed(twice: false, "secret").asked == ["Password: "])
        let new = try agreed(twice: true, "secret", "secret")
        #expect(new.password == "secret" && new.asked.count == 2)
    }

    @Test func `two that differ, and none, are refused`() {
        for answers in [("secret", "sercet"), ("", ""), (nil, nil), ("secret", nil)] as [(String?, String?)] {
            #expect(throws: PasswordPrompt.Refusal.self) { try agreed(twice: true, answers.0, answers.1) }
        }
    }
}
