// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct ReseedResult: ODataStructure {
        public static let odataType = "ComplianceService.ReseedResult"
        public var status: String?
        public var message: String?

        public init(status: String? = nil, message: String? = nil) {
            self.status = status
            self.message = message
        }

        public init(_ row: ODataRow) throws {
            self.status = try row.value("status")
            self.message = try row.value("message")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("status", self.status)
            row.set("message", self.message)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var status: ODataField<String> { .init(odataPath, "status") }
            public var message: ODataField<String> { .init(odataPath, "message") }
        }
    }
}
