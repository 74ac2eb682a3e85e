// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct PriceResetResult: ODataStructure {
        public static let odataType = "ComplianceService.PriceResetResult"
        public var message: String?
        public var updatedCount: Int32?

        public init(message: String? = nil, updatedCount: Int32? = nil) {
            self.message = message
            self.updatedCount = updatedCount
        }

        public init(_ row: ODataRow) throws {
            self.message = try row.value("message")
            self.updatedCount = try row.value("updatedCount")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("message", self.message)
            row.set("updatedCount", self.updatedCount)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var message: ODataField<String> { .init(odataPath, "message") }
            public var updatedCount: ODataField<Int32> { .init(odataPath, "updatedCount") }
        }
    }
}
