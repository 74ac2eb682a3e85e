// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

extension AdmissionsService {
    public struct State: ODataEntity {
        public static let odataType = "ADMISSIONSCOUNSELOR.State"
        public static let odataKeys: [String] = ["StateCode"]
        public var odata = ODataControl()
        public var stateCode: String?
        public var name: String?
        public var schools: [School]?

        public init(stateCode: String? = nil, name: String? = nil, schools: [School]? = nil) {
            self.stateCode = stateCode
            self.name = name
            self.schools = schools
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.stateCode = try row.value("StateCode")
            self.name = try row.value("Name")
            self.schools = try row.structures("Schools")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("StateCode", self.stateCode)
            row.set("Name", self.name)
            row.link("Schools", self.schools)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var stateCode: ODataField<String> { .init(odataPath, "StateCode") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var schools: ODataLinks<School> { .init(odataPath, "Schools") }
        }
    }
}
