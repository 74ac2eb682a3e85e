import Foundation

/// Reads a password: without echo from a terminal, otherwise the first line of standard input. Never from an argument,
/// which every process on the machine can read.
enum PasswordPrompt {
    static func read() throws -> String {
        let password = isatty(FileHandle.standardInput.fileDescriptor) == 1 ? fromTerminal() : readLine()
        guard let password, !password.isEmpty else {
            throw Failure("There is no password on standard input.", exitStatus: 2)
        }
        return password
    }

    private static func fromTerminal() -> String? {
        FileHandle.standardError.write(Data("Password: ".utf8))
        defer { FileHandle.standardError.write(Data("\n".utf8)) }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
        return readLine()
    }
}
