import AdapterKit
import Foundation
import Testing

/// `Sources/AdapterKit`, wherever the tests are built.
private let package = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

private func stampScript(_ arguments: String..., in directory: URL) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = [directory.appending(path: "stamp.sh").path] + arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
}

/// A copy of the package without its builds, gone when the closure returns.
private func withCopyOfPackage<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let copy = FileManager.default.temporaryDirectory.appending(path: "stamp-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: copy) }
    for name in ["Package.swift", "stamp.sh", "AdapterKit", "ValueTree", "CAdapterKitStamp"] {
        try FileManager.default.copyItem(at: package.appending(path: name), to: copy.appending(path: name))
    }
    return try body(copy)
}

private func text<Bytes>(_ bytes: Bytes) -> String {
    withUnsafeBytes(of: bytes) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

@Test func `The stamp's hash is that of the sources; if not, run Sources/AdapterKit/stamp.sh`() throws {
    #expect(try stampScript("--check", in: package) == 0)
}

@Test(arguments: ["AdapterKit/Lifecycle/Adapter.swift", "ValueTree/WireValue.swift", "Package.swift"])
func `A changed source makes the hash stale, and writing it anew makes it right`(source: String) throws {
    try withCopyOfPackage { copy in
        let file = copy.appending(path: source)
        try (String(contentsOf: file, encoding: .utf8) + "\n").write(to: file, atomically: true, encoding: .utf8)
        #expect(try stampScript("--check", in: copy) == 1)
        #expect(try stampScript(in: copy) == 0)
        #expect(try stampScript("--check", in: copy) == 0)
    }
}

@Test func `The stamp names the version, the sources and the compiler`() {
    let stamp = adapterKitStamp().pointee
    #expect(text(stamp.magic).hasPrefix("AdapterKit-Stamp"))
    #expect(text(stamp.sdkVersion) == ADAPTERKIT_SDK_VERSION)
    #expect(text(stamp.sdkHash).count == 64)
    #expect(text(stamp.compiler).contains("Clang"))
}

private enum SomeModule: AdapterModule {
    static var name: AdapterName { "some" }
    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(name: name, title: "Some", summary: "", version: "1")
    }
    static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { throw CancellationError() }
}

@Test func `A module comes out of its box as it went in`() {
    let pointer = adapterModuleBox(SomeModule.self)
    let object = Unmanaged<AnyObject>.fromOpaque(pointer).takeRetainedValue()
    #expect((object as? AdapterModuleBox)?.module.name == "some")
}
