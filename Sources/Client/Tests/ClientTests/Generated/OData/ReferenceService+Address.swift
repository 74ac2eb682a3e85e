// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct Address: ODataStructure {
        public static let odataType = "ComplianceService.Address"
        public var street: String?
        public var city: String?
        public var state: String?
        public var postalCode: String?
        public var country: String?

        public init(street: String? = nil, city: String? = nil, state: String? = nil, postalCode: String? = nil, country: String? = nil) {
            self.street = street
            self.city = city
            self.state = state
            self.postalCode = postalCode
            self.country = country
        }

        public init(_ row: ODataRow) throws {
            self.street = try row.value("Street")
            self.city = try row.value("City")
            self.state = try row.value("State")
            self.postalCode = try row.value("PostalCode")
            self.country = try row.value("Country")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("Street", self.street)
            row.set("City", self.city)
            row.set("State", self.state)
            row.set("PostalCode", self.postalCode)
            row.set("Country", self.country)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var street: ODataField<String> { .init(odataPath, "Street") }
            public var city: ODataField<String> { .init(odataPath, "City") }
            public var state: ODataField<String> { .init(odataPath, "State") }
            public var postalCode: ODataField<String> { .init(odataPath, "PostalCode") }
            public var country: ODataField<String> { .init(odataPath, "Country") }
        }
    }
}
