import Foundation

/// A command of the toolchain, waited for. Throws its output where it fails.
///
/// By the shell rather than Foundation's `Process`, which looks through the open files of this process before it starts
/// one, reads past the end of their list where they are many, and so crashed whole runs of the tests.
enum Tool {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func run(_ command: String...) throws {
        let line = command.map(quoted).joined(separator: " ")
        guard let output = popen(line + " 2>&1", "r") else { throw Failure(description: "\(line): errno \(errno)") }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&piece, 1, piece.count, output), count > 0 { text += piece[..<count] }
        guard pclose(output) == 0 else {
            throw Failure(description: "\(line): \(String(decoding: text, as: UTF8.self))")
        }
    }

    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
