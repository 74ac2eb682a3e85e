import DurableFiles
import Foundation

/// Ends a command with status 1 and this message on standard error.
struct HostCommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Why a file cannot be read or written, in the system's words.
enum FileFailure {
    /// Nil where it is a regular file that can be read. It does not wait, as a pipe without a writer would have it.
    static func reading(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return systemReason }
        defer { close(descriptor) }
        guard let file = OpenFile(descriptor: descriptor) else { return systemReason }
        return irregularity(file)
    }

    fileprivate static func irregularity(_ file: OpenFile) -> String? {
        switch file.kind {
        case .regular: nil
        case .folder: "it is a directory"
        case .other: "it is no regular file"
        }
    }

    /// Of the last call of the C library that failed.
    static var systemReason: String { String(cString: strerror(errno)).lowercasingFirst }

    /// An error of Foundation's as a sentence with the path; nil for any other.
    static func sentence(_ error: any Error) -> String? {
        guard let error = error as? CocoaError else { return nil }
        let path = error.filePath ?? error.url?.path
        let reason = (error.underlying as? POSIXError).map {
            String(cString: strerror($0.code.rawValue)).lowercasingFirst
        }
        let words = reason ?? reasons[error.code] ?? "the operation failed (\(error.code.rawValue))"
        return path.map { "\($0): \(words)." } ?? "A file cannot be read or written: \(words)."
    }

    private static let reasons: [CocoaError.Code: String] = [
        .fileNoSuchFile: "no such file or directory", .fileReadNoSuchFile: "no such file or directory",
        .fileReadNoPermission: "permission denied", .fileWriteNoPermission: "permission denied",
        .fileWriteFileExists: "file exists", .fileWriteOutOfSpace: "no space left on device",
        .fileWriteVolumeReadOnly: "read-only file system", .fileReadCorruptFile: "the file is damaged",
        .fileReadInapplicableStringEncoding: "the file is not UTF-8", .fileReadUnknown: "it cannot be read",
        .fileWriteUnknown: "it cannot be written",
    ]
}

/// The files that a configuration consists of: its own, secrets, connections, keys.
enum ConfigurationFile {
    /// Bytes of one. Longer files are not read: what is meant is another one.
    static let longest = 16 << 20

    /// Throws ``HostCommandError`` with the reason alone where it is no regular file, longer than ``longest``, no UTF-8, or
    /// cannot be read.
    static func text(_ path: String) throws(HostCommandError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw HostCommandError(FileFailure.systemReason) }
        defer { close(descriptor) }
        guard let file = OpenFile(descriptor: descriptor) else { throw HostCommandError(FileFailure.systemReason) }
        if let reason = FileFailure.irregularity(file) { throw HostCommandError(reason) }
        // It may grow while it is read.
        var bytes = [UInt8](repeating: 0, count: min(file.size, longest) + 1)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count, count)
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw HostCommandError(FileFailure.systemReason) }
            guard read > 0 else { break }
            count += read
        }
        guard count <= longest else { throw HostCommandError("it has more than \(longest >> 20) MiB") }
        guard let text = String(validating: bytes.prefix(count), as: UTF8.self) else {
            throw HostCommandError("it is not UTF-8")
        }
        return text
    }
}

extension String {
    fileprivate var lowercasingFirst: String { prefix(1).lowercased() + dropFirst() }
}
