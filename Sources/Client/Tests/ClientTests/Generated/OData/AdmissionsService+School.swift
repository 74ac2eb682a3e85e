// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

extension AdmissionsService {
    public struct School: ODataEntity {
        public static let odataType = "ADMISSIONSCOUNSELOR.School"
        public static let odataKeys: [String] = ["SchoolID"]
        public var odata = ODataControl()
        public var schoolID: Int32?
        public var name: String?
        public var city: String?
        public var stateCode: String?
        public var state: State? {
            get { oneState.first }
            set { oneState = newValue.map { [$0] } ?? [] }
        }
        public var students: [Student]?
        public var visits: [Visit]?
        private var oneState: [State] = []

        public init(schoolID: Int32? = nil, name: String? = nil, city: String? = nil, stateCode: String? = nil, state: State? = nil, students: [Student]? = nil, visits: [Visit]? = nil) {
            self.schoolID = schoolID
            self.name = name
            self.city = city
            self.stateCode = stateCode
            self.state = state
            self.students = students
            self.visits = visits
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.schoolID = try row.value("SchoolID")
            self.name = try row.value("Name")
            self.city = try row.value("City")
            self.stateCode = try row.value("StateCode")
            self.state = try row.structure("State")
            self.students = try row.structures("Students")
            self.visits = try row.structures("Visits")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("SchoolID", self.schoolID)
            row.set("Name", self.name)
            row.set("City", self.city)
            row.set("StateCode", self.stateCode)
            row.link("State", self.state)
            row.link("Students", self.students)
            row.link("Visits", self.visits)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var schoolID: ODataField<Int32> { .init(odataPath, "SchoolID") }
            public var name: ODataField<String> { .init(odataPath, "Name") }
            public var city: ODataField<String> { .init(odataPath, "City") }
            public var stateCode: ODataField<String> { .init(odataPath, "StateCode") }
            public var state: ODataLink<State> { .init(odataPath, "State") }
            public var students: ODataLinks<Student> { .init(odataPath, "Students") }
            public var visits: ODataLinks<Visit> { .init(odataPath, "Visits") }
        }
    }
}
