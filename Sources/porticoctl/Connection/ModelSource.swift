import CommandLineSupport
import Foundation
import ODataModel
import ValueTree
import WireFormats

/// Where the model of an OData service comes from.
enum ModelSource {
    /// A CSDL document.
    case file(String)
    /// A service by its name, at the gateway that serves it; where it needs a login, a person signs in.
    case served(String, gateway: String, user: String?)

    /// Larger documents are not read.
    static let maximumBytes = 16 << 20

    /// Nil for a service's name alone, of which nothing is known without a gateway.
    init?(service: String, gateway: String?, user: String?) {
        if let gateway {
            self = .served(service, gateway: gateway, user: user)
        } else if service.contains("/") || service.hasSuffix(".xml") || service.hasSuffix(".json") {
            self = .file(service)
        } else {
            return nil
        }
    }

    func model() async throws -> EntityDataModel {
        switch self {
        case .file(let path):
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw CommandError.unreadable(path)
            }
            return try Self.model([UInt8](bytes), from: path)
        case .served(let name, let gateway, let user):
            let address = "\(gateway)/odata/v4/\(name.asPathSegment)/$metadata"
            let credentials = try user.map { ($0, try PasswordPrompt.password()) }
            let document = RemoteDocument(
                address: address, maximumBytes: Self.maximumBytes, accept: "application/xml", credentials: credentials)
            return try Self.model(try await document.read(), from: address)
        }
    }

    private static func model(_ bytes: [UInt8], from location: String) throws -> EntityDataModel {
        do {
            return try EntityDataModel(csdl: bytes)
        } catch {
            throw CommandError("\(location) is no model of an OData service: \(error)")
        }
    }
}

/// Where a gateway's description of itself comes from.
enum DescriptionSource {
    case file(String)
    /// The address of a gateway, whose description every client may read.
    case gateway(String)

    /// Larger descriptions are not read.
    static let maximumBytes = 64 << 20

    func document() async throws -> WireValue {
        switch self {
        case .file(let path):
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw CommandError.unreadable(path)
            }
            return try Self.read([UInt8](bytes), from: path)
        case .gateway(let gateway):
            let address = gateway + "/openapi.json"
            let document = RemoteDocument(address: address, maximumBytes: Self.maximumBytes, accountMayHelp: false)
            return try Self.read(try await document.read(), from: address)
        }
    }

    private static func read(_ bytes: [UInt8], from location: String) throws -> WireValue {
        do {
            return try JSONFormat().read(bytes)
        } catch {
            throw CommandError("\(location) is no description of a gateway: \(error.description)")
        }
    }
}
