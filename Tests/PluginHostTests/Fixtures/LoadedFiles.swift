import Foundation

/// The files that this process has mapped.
enum LoadedFiles {
    /// Read as a stream: the file has no size, so what reads files as a whole stops early.
    static func paths(named name: String) throws -> Set<String> {
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps"))
        var text: [UInt8] = []
        while let chunk = try maps.read(upToCount: 1 << 16), !chunk.isEmpty { text += chunk }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        return Set(lines.map { String($0.drop { $0 != "/" }) }.filter { $0.hasSuffix("/\(name)") })
    }
}
