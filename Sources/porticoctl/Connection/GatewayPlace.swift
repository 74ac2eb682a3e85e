import Foundation

/// Where the gateway is that a command is for: as options say, else as the environment does, else where it usually is.
enum GatewayPlace: Equatable {
    /// An admin listener.
    case address(String)
    /// A data directory.
    case data(String)

    /// A gateway that was started here, and the package's.
    static let usualFolders = [".portico", "/var/lib/portico"]

    init(
        url: String?, data: String?, environment: [String: String],
        isThere: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let url {
            self = .address(url)
        } else if let data {
            self = .data(data)
        } else if let url = variable("PORTICO_URL") {
            self = .address(url)
        } else {
            self = .data(
                variable("PORTICO_DATA") ?? Self.usualFolders.first(where: isThere) ?? Self.usualFolders[0])
        }
    }
}
