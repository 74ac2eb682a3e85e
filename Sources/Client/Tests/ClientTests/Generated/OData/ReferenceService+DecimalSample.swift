// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct DecimalSample: ODataEntity {
        public static let odataType = "ComplianceService.DecimalSample"
        public static let odataKeys: [String] = ["ID"]
        public var odata = ODataControl()
        public var id: UUID?
        public var name: String?
        public var amount: Decimal?

        public init(id: UUID? = nil, name: String? = nil, amount: Decimal? = nil) {
            self.id = id
            self.name = name
            self.amount = amount
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.id = try row.value("ID")
            self.name = try row.value("Name")
            self.amount = try row.value("Amount")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ID", self.id)
            row.set("Name", self.name)
            row.set("Amount", self.amount)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var id: ODataField<UUID> { .init(odataPath, "ID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var amount: ODataField<Decimal> { .init(odataPath, "Amount") }
        }
    }
}
