import Foundation

/// Says on standard error how far a command is; on a terminal only, so that scripts' logs stay clean.
struct ProgressBar {
    private static let width = 30
    private let isTerminal = isatty(FileHandle.standardError.fileDescriptor) == 1

    func show(_ step: String, _ fraction: Double) {
        guard isTerminal else { return }
        let filled = Int(Double(Self.width) * min(max(fraction, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
        write("\r[\(bar)] \(step)\u{1B}[K")
    }

    func end() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
