import AdapterKit
import AdapterProtocol
import DurableFiles
import ValueTree
import WireFormats

/// What a package says of itself: its file `adapter.json`, the first one in the archive.
///
/// ```json
/// {"format": 1, "name": "inventory", "version": "1.2.0", "protocol": 1, "entry": "bin/inventory-worker",
///  "platform": "linux-x86_64", "files": {"bin/inventory-worker": {"sha256": "…", "size": 81920, "executable": true}}}
/// ```
///
/// `platform` is left out where the files run on every machine. Members that are not known are left aside, so that a later
/// host's packages can say more.
public struct AdapterManifest: Sendable, Equatable {
    public static let fileName = "adapter.json"
    /// The version of this file's form and of the archive's.
    public static let format = 1
    /// Files in a package, at most.
    public static let maximumFiles = 10_000
    /// Bytes of the manifest, at most.
    static let maximumBytes = 4 << 20

    /// Whether no adapter may have the name, because the gateway uses it.
    public static func isReserved(_ name: AdapterName) -> Bool { AdapterProtocolVersion.reservedNames.contains(name) }

    /// One file of the package.
    public struct File: Sendable, Equatable {
        /// SHA-256, 64 hexadecimal digits in lower case.
        public let digest: String
        /// In bytes.
        public let size: Int
        public let isExecutable: Bool

        public init(digest: String, size: Int, isExecutable: Bool) {
            self.digest = digest
            self.size = size
            self.isExecutable = isExecutable
        }
    }

    public let name: AdapterName
    public let version: AdapterVersion
    /// The version of the adapter protocol that the program speaks.
    public let protocolVersion: Int
    /// The program.
    public let entry: PackagePath
    /// As ``currentPlatform``; nil: every one.
    public let platform: String?
    public let files: [PackagePath: File]

    /// Throws where the host itself has the name, the entry is no executable file of the package, or there are too many
    /// files.
    public init(
        name: AdapterName, version: AdapterVersion, protocolVersion: Int, entry: PackagePath, platform: String?,
        files: [PackagePath: File]
    ) throws(AdapterPackageError) {
        guard !Self.isReserved(name) else {
            throw AdapterPackageError("The gateway uses the name \(name) itself: give the adapter another one.")
        }
        guard files.count <= Self.maximumFiles else {
            throw AdapterPackageError("A package has at most \(Self.maximumFiles) files.")
        }
        guard files[entry]?.isExecutable == true else {
            throw AdapterPackageError("The package's entry \(entry) is not an executable file of the package.")
        }
        self.name = name
        self.version = version
        self.protocolVersion = protocolVersion
        self.entry = entry
        self.platform = platform
        self.files = files
    }

    /// The version of the adapter protocol that programs speak which are built with this release.
    public static let currentProtocol = AdapterProtocolVersion.current

    /// The platform of this program.
    public static var currentPlatform: String {
        #if arch(x86_64)
            "linux-x86_64"
        #elseif arch(arm64)
            "linux-aarch64"
        #else
            "linux"
        #endif
    }
}

/// The place of a file in a package: names joined by `/`, from the package's folder on.
///
/// At most 16 names and 255 bytes, of which the last name has at most 100 (the archive's format). No name is empty, `.` or
/// `..`, or has a control character or a backslash. It is taken apart by bytes, as the file system does: `/` and a combining
/// mark after it are one `Character`.
public struct PackagePath: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// Nil for what is no such path.
    public init?(_ text: String) {
        let names = Self.names(text, omittingEmptyOnes: false)
        guard text.utf8.count <= 255, names.count <= 16, let last = names.last, last.utf8.count <= 100,
            names.dropLast().joined(separator: "/").utf8.count <= 155,
            names.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }),
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        self.text = text
    }

    public var description: String { text }

    /// The outermost folder first, the file last.
    var names: [Substring] { Self.names(text, omittingEmptyOnes: true) }

    static func names(_ text: String, omittingEmptyOnes: Bool) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: omittingEmptyOnes)
            .map { Substring($0) }
    }

    /// The folders that it lies in, the outer first.
    var folders: [String] {
        let names = names.dropLast()
        return names.indices.map { names[...$0].joined(separator: "/") }
    }
}

/// Why a package is refused. A sentence for operators; it names nothing outside of the package.
public struct AdapterPackageError: Error, Sendable, Equatable, CustomStringConvertible {
    public let message: String

    public init(_ message: String) {
        self.message = message
    }

    public var description: String { message }
}

extension AdapterManifest {
    /// Reads the file's bytes.
    public init(_ bytes: [UInt8]) throws(AdapterPackageError) {
        guard bytes.count <= Self.maximumBytes,
            let value = try? JSONFormat().read(bytes, limits: ReadingLimits(depth: 8)),
            let members = value.dictionaryValue
        else { throw AdapterPackageError("The package's \(Self.fileName) is not a JSON object of at most 4 MiB.") }
        let format = members["format"]?.int64Value
        guard format == Int64(Self.format) else {
            throw AdapterPackageError(
                "The package's \(Self.fileName) has \(format.map { "the format \($0)" } ?? "no format that is known"). "
                    + "This host reads the format \(Self.format).")
        }
        let reader = Members(members)
        try self.init(
            name: reader.value("name") { AdapterName($0) },
            version: reader.value("version") { AdapterVersion($0) },
            protocolVersion: reader.number("protocol", in: 1...Int(UInt16.max)),
            entry: reader.value("entry") { PackagePath($0) },
            platform: members["platform"] == nil ? nil : reader.value("platform") { $0.isEmpty ? nil : $0 },
            files: reader.files())
    }

    /// What ``init(_:)`` reads; the same bytes for equal manifests.
    public func bytes() -> [UInt8] {
        let listed = files.sorted { $0.key.text < $1.key.text }.map { path, file in
            WireDictionary.Entry(
                key: path.text,
                value: [
                    "sha256": .string(file.digest), "size": .int64(Int64(file.size)),
                    "executable": .bool(file.isExecutable),
                ])
        }
        var members: WireDictionary = [
            "format": .int64(Int64(Self.format)), "name": .string(name.text), "version": .string(version.text),
            "protocol": .int64(Int64(protocolVersion)), "entry": .string(entry.text),
        ]
        if let platform { members["platform"] = .string(platform) }
        members["files"] = .dictionary(WireDictionary(uncheckedUniqueKeys: listed))
        // Nothing in it is refused by JSON: texts of valid Unicode, booleans and whole numbers.
        return (try? JSONFormat().write(.dictionary(members))) ?? []
    }

    private struct Members {
        let members: WireDictionary

        init(_ members: WireDictionary) {
            self.members = members
        }

        func value<Value>(_ name: String, _ read: (String) -> Value?) throws(AdapterPackageError) -> Value {
            guard let text = members[name]?.stringValue, let value = read(text) else { throw refusal(name) }
            return value
        }

        func number(_ name: String, in range: ClosedRange<Int>) throws(AdapterPackageError) -> Int {
            guard let number = members[name]?.int64Value, let value = Int(exactly: number), range.contains(value) else {
                throw refusal(name)
            }
            return value
        }

        func files() throws(AdapterPackageError) -> [PackagePath: File] {
            guard let listed = members["files"]?.dictionaryValue else { throw refusal("files") }
            var files: [PackagePath: File] = [:]
            for entry in listed {
                guard let path = PackagePath(entry.key), path.text != AdapterManifest.fileName,
                    path.text != PackageSignature.fileName, let file = entry.value.dictionaryValue,
                    let digest = file["sha256"]?.stringValue, SHA256Text.isDigest(digest),
                    let size = file["size"]?.int64Value, size >= 0, let count = Int(exactly: size)
                else { throw refusal("files") }
                files[path] = File(
                    digest: digest, size: count, isExecutable: file["executable"]?.boolValue ?? false)
            }
            return files
        }

        private func refusal(_ name: String) -> AdapterPackageError {
            AdapterPackageError("Its \(AdapterManifest.fileName) has no valid \"\(name)\".")
        }
    }
}
