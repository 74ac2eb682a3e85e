import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ValueTree
import WireFormats

/// Where a gateway's description of itself comes from.
enum DescriptionSource {
    case file(String)
    /// The address of a gateway, whose description anybody may read.
    case gateway(String)

    /// Larger descriptions are not read.
    static let maximumBytes = 64 << 20
    private static let deadline = TimeAmount.seconds(30)

    func document() async throws -> WireValue {
        switch self {
        case .file(let path):
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw Failure("\(path) cannot be read.")
            }
            return try Self.read([UInt8](bytes), from: path)
        case .gateway(let address): return try await Self.fetch(address + "/openapi.json")
        }
    }

    private static func fetch(_ address: String) async throws -> WireValue {
        let bytes: [UInt8]
        do {
            let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: address), timeout: deadline)
            guard response.status == .ok else { throw Failure("\(address) answered \(response.status.code).") }
            bytes = Array(try await response.body.collect(upTo: maximumBytes).readableBytesView)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure("\(address) cannot be read: \(error)")
        }
        return try read(bytes, from: address)
    }

    private static func read(_ bytes: [UInt8], from place: String) throws -> WireValue {
        do {
            return try JSONFormat().read(bytes)
        } catch {
            throw Failure("\(place) is no description of a gateway: \(error.description)")
        }
    }
}
