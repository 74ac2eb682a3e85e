// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of reference. Generate it anew, do not edit it.
import Client
import Foundation

extension ReferenceService {
    public struct MediaItem: ODataEntity {
        public static let odataType = "ComplianceService.MediaItem"
        public static let odataKeys: [String] = ["ID"]
        public var odata = ODataControl()
        public var id: UUID?
        public var name: String?
        public var contentType: String?
        public var size: Int64?
        public var createdAt: ODataDateTime?
        public var modifiedAt: ODataDateTime?

        public init(id: UUID? = nil, name: String? = nil, contentType: String? = nil, size: Int64? = nil, createdAt: ODataDateTime? = nil, modifiedAt: ODataDateTime? = nil) {
            self.id = id
            self.name = name
            self.contentType = contentType
            self.size = size
            self.createdAt = createdAt
            self.modifiedAt = modifiedAt
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.id = try row.value("ID")
            self.name = try row.value("Name")
            self.contentType = try row.value("ContentType")
            self.size = try row.value("Size")
            self.createdAt = try row.value("CreatedAt")
            self.modifiedAt = try row.value("ModifiedAt")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("ID", self.id)
            row.set("Name", self.name)
            row.set("ContentType", self.contentType)
            row.set("Size", self.size)
            row.set("CreatedAt", self.createdAt)
            row.set("ModifiedAt", self.modifiedAt)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var id: ODataField<UUID> { .init(odataPath, "ID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var contentType: ODataField<String> { .init(odataPath, "ContentType") }
            public var size: ODataField<Int64> { .init(odataPath, "Size") }
            public var createdAt: ODataField<ODataDateTime> { .init(odataPath, "CreatedAt") }
            public var modifiedAt: ODataField<ODataDateTime> { .init(odataPath, "ModifiedAt") }
        }
    }
}
