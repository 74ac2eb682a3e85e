// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct Category: ODataEntity {
        public static let odataType = "ComplianceService.Category"
        public static let odataKeys: [String] = ["ID"]
        public var odata = ODataControl()
        public var id: UUID?
        public var name: String?
        public var description: String?
        public var products: [Product]?

        public init(id: UUID? = nil, name: String? = nil, description: String? = nil, products: [Product]? = nil) {
            self.id = id
            self.name = name
            self.description = description
            self.products = products
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.id = try row.value("ID")
            self.name = try row.value("Name")
            self.description = try row.value("Description")
            self.products = try row.structures("Products")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ID", self.id)
            row.set("Name", self.name)
            row.set("Description", self.description)
            row.link("Products", self.products)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var id: ODataField<UUID> { .init(odataPath, "ID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var description: ODataField<String> { .init(odataPath, "Description") }
            public var products: ODataLinks<Product> { .init(odataPath, "Products") }
        }
    }
}
