// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

extension AdmissionsService {
    public struct Counselor: ODataEntity {
        public static let odataType = "ADMISSIONSCOUNSELOR.Counselor"
        public static let odataKeys: [String] = ["CounselorID"]
        public var odata = ODataControl()
        public var counselorID: Int32?
        public var firstName: String?
        public var lastName: String?
        public var email: String?
        public var region: String?
        public var students: [Student]?
        public var visits: [Visit]?
        public var appointments: [Appointment]?

        public init(counselorID: Int32? = nil, firstName: String? = nil, lastName: String? = nil, email: String? = nil, region: String? = nil, students: [Student]? = nil, visits: [Visit]? = nil, appointments: [Appointment]? = nil) {
            self.counselorID = counselorID
            self.firstName = firstName
            self.lastName = lastName
            self.email = email
            self.region = region
            self.students = students
            self.visits = visits
            self.appointments = appointments
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.counselorID = try row.value("CounselorID")
            self.firstName = try row.value("FirstName")
            self.lastName = try row.value("LastName")
            self.email = try row.value("Email")
            self.region = try row.value("Region")
            self.students = try row.structures("Students")
            self.visits = try row.structures("Visits")
            self.appointments = try row.structures("Appointments")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("CounselorID", self.counselorID)
            row.set("FirstName", self.firstName)
            row.set("LastName", self.lastName)
            row.set("Email", self.email)
            row.set("Region", self.region)
            row.link("Students", self.students)
            row.link("Visits", self.visits)
            row.link("Appointments", self.appointments)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var counselorID: ODataField<Int32> { .init(odataPath, "CounselorID") }
            public var firstName: ODataField<String> { .init(odataPath, "FirstName") }
            public var lastName: ODataField<String> { .init(odataPath, "LastName") }
            public var email: ODataField<String> { .init(odataPath, "Email") }
            public var region: ODataField<String> { .init(odataPath, "Region") }
            public var students: ODataLinks<Student> { .init(odataPath, "Students") }
            public var visits: ODataLinks<Visit> { .init(odataPath, "Visits") }
            public var appointments: ODataLinks<Appointment> { .init(odataPath, "Appointments") }
        }
    }
}
