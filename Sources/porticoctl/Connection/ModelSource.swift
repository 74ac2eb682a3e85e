import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ODataModel

/// Where the model of an OData service comes from.
enum ModelSource {
    /// A CSDL document.
    case file(String)
    /// A service by its name, at the gateway that serves it; where it is not for everybody, a person signs in.
    case served(String, gateway: String, user: String?)

    /// Larger documents are not read.
    static let maximumBytes = 16 << 20
    private static let deadline = TimeAmount.seconds(30)

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
                throw Failure("\(path) cannot be read.")
            }
            return try Self.model([UInt8](bytes), from: path)
        case .served(let name, let gateway, let user):
            let address = "\(gateway)/odata/v4/\(name.asPathSegment)/$metadata"
            return try Self.model(try await Self.fetch(address, user), from: address)
        }
    }

    private static func fetch(_ address: String, _ user: String?) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "Accept", value: "application/xml")
        if let user { request.setBasicAuth(username: user, password: try PasswordPrompt.read()) }
        do {
            let response = try await HTTPClient.shared.execute(request, timeout: deadline)
            guard response.status != .unauthorized else {
                throw Failure("\(address) is for those who sign in: name somebody with --user.", exitStatus: 4)
            }
            guard response.status == .ok else { throw Failure("\(address) answered \(response.status.code).") }
            return Array(try await response.body.collect(upTo: maximumBytes).readableBytesView)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(address) cannot be read: \(error)")
        }
    }

    private static func model(_ bytes: [UInt8], from place: String) throws -> EntityDataModel {
        do {
            return try EntityDataModel(csdl: bytes)
        } catch {
            throw Failure("\(place) is no model of an OData service: \(error)")
        }
    }
}
