import AdapterKit

/// What a piece of code was compiled against: AdapterKit's version and sources, and the compiler.
public struct PluginStamp: Sendable, Equatable {
    public let sdkVersion: String
    public let sdkHash: String
    public let compiler: String

    /// The host's own, compiled into this module from the header that plugins use.
    public static let ofHost: PluginStamp = {
        let bytes = Array(UnsafeRawBufferPointer(start: adapterKitStamp(), count: byteCount))
        guard let stamp = PluginStamp(bytes) else { preconditionFailure("the host's own stamp is malformed") }
        return stamp
    }()

    /// What keeps a plugin of this stamp from running beside a host of that one; nil where nothing does.
    func mismatch(with host: PluginStamp) -> PluginError.Reason? {
        if sdkVersion != host.sdkVersion { return .otherSDKVersion(plugin: sdkVersion, host: host.sdkVersion) }
        if compiler != host.compiler { return .otherCompiler(plugin: compiler, host: host.compiler) }
        if sdkHash != host.sdkHash { return .otherSDKSources(plugin: sdkHash, host: host.sdkHash) }
        return nil
    }
}

/// The format is told at its source, `AdapterKitStamp.h`.
extension PluginStamp {
    static let section = ".adapterkit.stamp"
    static let byteCount = MemoryLayout<AdapterKitStamp>.size

    /// Nil where the bytes are no stamp.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes.starts(with: "AdapterKit-Stamp".utf8) else { return nil }
        guard let version = Self.text(\.sdkVersion, in: bytes), let hash = Self.text(\.sdkHash, in: bytes),
            let compiler = Self.text(\.compiler, in: bytes)
        else { return nil }
        self.init(sdkVersion: version, sdkHash: hash, compiler: compiler)
    }

    /// Printable ASCII, then zeros up to the member's end; so it is safe to show.
    private static func text<Characters>(
        _ member: KeyPath<AdapterKitStamp, Characters>, in bytes: [UInt8]
    ) -> String? {
        guard let offset = MemoryLayout<AdapterKitStamp>.offset(of: member) else { return nil }
        let field = bytes[offset..<offset + MemoryLayout<Characters>.size]
        let text = field.prefix { $0 != 0 }
        let isPrintable = text.allSatisfy { (0x20..<0x7f).contains($0) }
        let isPadded = text.count < field.count && field[text.endIndex...].allSatisfy { $0 == 0 }
        return !text.isEmpty && isPrintable && isPadded ? String(decoding: text, as: UTF8.self) : nil
    }
}
