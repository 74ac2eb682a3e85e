import Foundation

/// Ends a command with status 1 and this message on standard error.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Why a file cannot be read or written, in the system's words.
enum FileFailure {
    /// Nil where it can be read.
    static func reading(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return systemReason }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return systemReason }
        return status.st_mode & S_IFMT == S_IFDIR ? "it is a directory" : nil
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

extension String {
    fileprivate var lowercasingFirst: String { prefix(1).lowercased() + dropFirst() }
}
