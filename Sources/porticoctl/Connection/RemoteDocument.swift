import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A document at an address of HTTP that a command reads: a description, a model, a WSDL.
struct RemoteDocument {
    let address: String
    /// Larger ones are not read.
    let maximumBytes: Int
    var accept = "*/*"
    /// For Basic authentication; nil: without an account.
    var credentials: (user: String, password: String)?
    /// The address as messages have it.
    var shownAddress: String?
    /// Whether the command has an option for an account.
    var accountMayHelp = true

    private static let deadline = TimeAmount.seconds(60)

    func read() async throws -> [UInt8] {
        let shown = shownAddress ?? address
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "Accept", value: accept)
        if let (user, password) = credentials { request.setBasicAuth(username: user, password: password) }
        let response: HTTPClientResponse
        do { response = try await HTTPClient.documents.execute(request, timeout: Self.deadline) } catch {
            throw CommandError("\(shown) cannot be read: \(ConnectionFailure(error).words ?? "\(error)")")
        }
        switch response.status {
        case .ok: break
        case .unauthorized where accountMayHelp:
            throw CommandError("\(shown) is for those who sign in: name an account with --user.", exitStatus: 4)
        default: throw CommandError("\(shown) answered \(response.status.code).")
        }
        do { return Array(try await response.body.collect(upTo: maximumBytes).readableBytesView) } catch {
            throw CommandError("\(shown) cannot be read: \(error)")
        }
    }
}

/// Scheme, host and port: credentials of one are not sent to another.
struct WebOrigin: Equatable {
    let scheme: String
    let host: String
    let port: Int

    /// Nil for what is no address of HTTP.
    init?(_ address: String) {
        guard let url = URL(string: address), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = url.host
        else { return nil }
        (self.scheme, self.host, port) = (scheme, host.lowercased(), url.port ?? (scheme == "https" ? 443 : 80))
    }
}
