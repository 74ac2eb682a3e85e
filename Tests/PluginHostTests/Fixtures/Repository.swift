import Foundation

/// The checkout that these tests belong to, through whatever links they are built.
enum Repository {
    static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static let stampModule = root.appending(path: "Sources/AdapterKit/CAdapterKitStamp").path

    #if DEBUG
        static let configuration = "debug"
    #else
        static let configuration = "release"
    #endif
}
