// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct ReadOnlyItem: ODataEntity {
        public static let odataType = "ComplianceService.ReadOnlyItem"
        public static let odataKeys: [String] = ["ID"]
        public var odata = ODataControl()
        public var id: UUID?
        public var name: String?

        public init(id: UUID? = nil, name: String? = nil) {
            self.id = id
            self.name = name
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.id = try row.value("ID")
            self.name = try row.value("Name")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ID", self.id)
            row.set("Name", self.name)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var id: ODataField<UUID> { .init(odataPath, "ID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
        }
    }
}
