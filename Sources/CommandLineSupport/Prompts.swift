import Foundation

/// Asks for a password: on a terminal without showing what is typed, otherwise the first line of standard input. Never an
/// argument, which every process on the machine can read.
public enum PasswordPrompt {
    /// Why there is no password, as a sentence.
    public struct Refusal: Error, CustomStringConvertible {
        public let description: String
    }

    /// `isNew`: asked for twice on a terminal, because one that was mistyped is of no use.
    public static func read(isNew: Bool = false) throws(Refusal) -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try askPassword { _ in readLine() } }
        return try askPassword(twice: isNew, ask: Terminal.askSecretly)
    }

    /// What `ask` answers, twice the same where that is wanted.
    public static func askPassword(twice: Bool = false, ask: (String) -> String?) throws(Refusal) -> String {
        guard let password = ask("Password: "), !password.isEmpty else {
            throw Refusal(description: "There is no password on standard input.")
        }
        guard !twice || ask("The same again: ") == password else {
            throw Refusal(description: "The two passwords differ. Nothing was done.")
        }
        return password
    }
}

/// Questions on standard error, answers from standard input.
public enum Terminal {
    /// Whether a person can be asked.
    public static var isThere: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Nil at the end of the input.
    public static func ask(_ question: String) -> String? {
        FileHandle.standardError.write(Data(question.utf8))
        return readLine()
    }

    /// Without showing what is typed.
    public static func askSecretly(_ question: String) -> String? {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return ask(question) }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        // First: it drops what was typed before.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            FileHandle.standardError.write(Data("\n".utf8))
        }
        FileHandle.standardError.write(Data(question.utf8))
        return readLine()
    }
}
