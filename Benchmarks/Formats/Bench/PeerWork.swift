import Foundation
import Peers
import Shapes
import WireFormats

/// One pass of a peer over a shape's documents.
struct PeerWork: Sendable {
    let name: String
    /// Builds what the peer is given, outside of what is measured, and returns the pass.
    let prepare: @Sendable (EncodedShape) throws -> () throws -> Int

    /// A peer that is given the bytes of each document.
    private static func onBytes(
        _ name: String, _ format: FormatName, _ work: @escaping @Sendable (UnsafePointer<UInt8>, Int) -> Int
    ) -> PeerWork {
        PeerWork(name: name) { shape in
            let documents = shape[format]
            return { try sum(documents) { work($0.baseAddress!, $0.count) } }
        }
    }

    private static func sum(_ documents: [[UInt8]], _ work: (UnsafeBufferPointer<UInt8>) -> Int) throws -> Int {
        try documents.reduce(0) { total, document in
            let done = document.withUnsafeBufferPointer(work)
            guard done != 0 else { throw NothingDone() }
            return total &+ done
        }
    }
}

extension PeerWork {
    static let rapidJSON = onBytes("RapidJSON DOM", .json, peer_rapidjson_parse)
    static let plistFromXML = onBytes("libplist", .plist, peer_plist_from_xml)
    static let plistFromBinary = onBytes("libplist", .bplist, peer_plist_from_binary)
    static let jsonToBinary = onBytes("RapidJSON + libplist", .json, peer_json_to_binary)
    static let libxmlEvents = onBytes("libxml2 SAX2", .xml, peer_libxml_events)
    static let plistToXML = onTrees(peer_plist_to_xml)
    static let plistToBinary = onTrees(peer_plist_to_binary)

    static let simdjson = PeerWork(name: "simdjson DOM") { shape in
        let parser = SimdjsonParser()
        let padded = shape[.json].map { (bytes: $0 + [UInt8](repeating: 0, count: 64), count: $0.count) }
        return { try padded.reduce(0) { try $0 &+ parser.parse($1.bytes, $1.count) } }
    }

    static let jsonSerialization = PeerWork(name: "JSONSerialization") { shape in
        let documents = shape[.json].map { Data($0) }
        return {
            try documents.reduce(0) { total, document in
                let tree = try JSONSerialization.jsonObject(with: document)
                return total &+ ((tree as? [Any])?.count ?? (tree as? [String: Any])?.count ?? 0)
            }
        }
    }

    static let jsonEncoder = PeerWork(name: "JSONEncoder") { shape in
        let documents = EncodableShapes.documents(of: shape.shape)
        return {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            return try documents.reduce(0) { $0 &+ (try encoder.encode($1).count) }
        }
    }

    private static func onTrees(_ work: @escaping @Sendable (UnsafeMutableRawPointer) -> Int) -> PeerWork {
        PeerWork(name: "libplist") { shape in
            let trees = try shape[.bplist].map { try PlistTree($0) }
            return { trees.reduce(0) { $0 &+ work($1.tree) } }
        }
    }
}

private final class SimdjsonParser {
    private let parser = peer_simdjson_make()

    deinit { peer_simdjson_free(parser) }

    func parse(_ padded: [UInt8], _ count: Int) throws -> Int {
        let done = peer_simdjson_parse(parser, padded, count, padded.count)
        guard done != 0 else { throw NothingDone() }
        return done
    }
}

private final class PlistTree {
    let tree: UnsafeMutableRawPointer

    init(_ document: [UInt8]) throws {
        guard let tree = peer_plist_tree(document, document.count) else { throw NothingDone() }
        self.tree = tree
    }

    deinit { peer_plist_free(tree) }
}
