import Foundation
import WireFormats

/// Standard input as one piece of memory that a file backs: the file itself where it is one, otherwise a temporary file
/// that has no name and goes with the process.
struct MappedInput {
    private let start: UnsafeMutableRawPointer
    private let count: Int

    /// Nil where standard input is shorter than `least`: `shorter` has it then.
    init?(least: Int, most: Int, shorter: inout [UInt8]) throws {
        let input = FileHandle.standardInput
        var status = stat()
        guard fstat(input.fileDescriptor, &status) == 0 else { throw Self.failure() }
        if status.st_mode & S_IFMT == S_IFREG, lseek(input.fileDescriptor, 0, SEEK_CUR) == 0, status.st_size >= least {
            try self.init(descriptor: input.fileDescriptor, count: Int(status.st_size))
            return
        }
        while shorter.count < least {
            guard let chunk = try input.read(upToCount: Convert.chunk), !chunk.isEmpty else { return nil }
            shorter += chunk
        }
        try self.init(spooling: input, after: shorter, most: most)
    }

    private init(spooling input: FileHandle, after first: [UInt8], most: Int) throws {
        var path = Array((NSTemporaryDirectory() + "portico-XXXXXX").utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw Self.failure() }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard unlink(path) == 0 else { throw Self.failure() }
        var (chunk, count) = (Data(first), 0)
        // One byte more than is allowed tells that there are too many.
        while !chunk.isEmpty, count <= most {
            try file.write(contentsOf: chunk)
            count += chunk.count
            chunk = try input.read(upToCount: Convert.chunk) ?? Data()
        }
        try self.init(descriptor: descriptor, count: count)
    }

    private init(descriptor: Int32, count: Int) throws {
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
            throw Self.failure()
        }
        (self.start, self.count) = (start, count)
    }

    var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// What is resident need not be.
    func letGo() { madvise(start, count, MADV_DONTNEED) }

    private static func failure() -> any Error {
        CocoaError(.fileReadUnknown, userInfo: [NSLocalizedDescriptionKey: String(cString: strerror(errno))])
    }
}
