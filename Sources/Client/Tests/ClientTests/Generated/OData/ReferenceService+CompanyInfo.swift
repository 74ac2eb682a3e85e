// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct CompanyInfo: ODataEntity {
        public static let odataType = "ComplianceService.CompanyInfo"
        public static let odataKeys: [String] = ["ID"]
        public var odata = ODataControl()
        public var id: UUID?
        public var name: String?
        public var ceo: String?
        public var founded: Int32?
        public var headQuarter: String?
        public var website: String?
        public var logo: Data?
        public var version: Int32?
        public var updatedAt: ODataDateTime?

        public init(id: UUID? = nil, name: String? = nil, ceo: String? = nil, founded: Int32? = nil, headQuarter: String? = nil, website: String? = nil, logo: Data? = nil, version: Int32? = nil, updatedAt: ODataDateTime? = nil) {
            self.id = id
            self.name = name
            self.ceo = ceo
            self.founded = founded
            self.headQuarter = headQuarter
            self.website = website
            self.logo = logo
            self.version = version
            self.updatedAt = updatedAt
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.id = try row.value("ID")
            self.name = try row.value("Name")
            self.ceo = try row.value("CEO")
            self.founded = try row.value("Founded")
            self.headQuarter = try row.value("HeadQuarter")
            self.website = try row.value("Website")
            self.logo = try row.value("Logo")
            self.version = try row.value("Version")
            self.updatedAt = try row.value("UpdatedAt")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ID", self.id)
            row.set("Name", self.name)
            row.set("CEO", self.ceo)
            row.set("Founded", self.founded)
            row.set("HeadQuarter", self.headQuarter)
            row.set("Website", self.website)
            row.set("Logo", self.logo)
            row.set("Version", self.version)
            row.set("UpdatedAt", self.updatedAt)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var id: ODataField<UUID> { .init(odataPath, "ID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var ceo: ODataField<String> { .init(odataPath, "CEO") }
            public var founded: ODataField<Int32> { .init(odataPath, "Founded") }
            public var headQuarter: ODataField<String> { .init(odataPath, "HeadQuarter") }
            public var website: ODataField<String> { .init(odataPath, "Website") }
            public var logo: ODataField<Data> { .init(odataPath, "Logo") }
            public var version: ODataField<Int32> { .init(odataPath, "Version") }
            public var updatedAt: ODataField<ODataDateTime> { .init(odataPath, "UpdatedAt") }
        }
    }
}
