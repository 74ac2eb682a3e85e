// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

extension AdmissionsService {
    public struct Student: ODataEntity {
        public static let odataType = "ADMISSIONSCOUNSELOR.Student"
        public static let odataKeys: [String] = ["StudentID"]
        public var odata = ODataControl()
        public var studentID: Int32?
        public var firstName: String?
        public var lastName: String?
        public var schoolID: Int32?
        public var graduationYear: Int16?
        public var gpa: Decimal?
        public var status: String?
        public var counselorID: Int32?
        public var email: String?
        public var birthDate: ODataDate?
        public var registered: ODataDateTime?
        public var school: School? {
            get { oneSchool.first }
            set { oneSchool = newValue.map { [$0] } ?? [] }
        }
        public var counselor: Counselor? {
            get { oneCounselor.first }
            set { oneCounselor = newValue.map { [$0] } ?? [] }
        }
        public var visits: [Visit]?
        public var appointments: [Appointment]?
        private var oneSchool: [School] = []
        private var oneCounselor: [Counselor] = []

        public init(studentID: Int32? = nil, firstName: String? = nil, lastName: String? = nil, schoolID: Int32? = nil, graduationYear: Int16? = nil, gpa: Decimal? = nil, status: String? = nil, counselorID: Int32? = nil, email: String? = nil, birthDate: ODataDate? = nil, registered: ODataDateTime? = nil, school: School? = nil, counselor: Counselor? = nil, visits: [Visit]? = nil, appointments: [Appointment]? = nil) {
            self.studentID = studentID
            self.firstName = firstName
            self.lastName = lastName
            self.schoolID = schoolID
            self.graduationYear = graduationYear
            self.gpa = gpa
            self.status = status
            self.counselorID = counselorID
            self.email = email
            self.birthDate = birthDate
            self.registered = registered
            self.school = school
            self.counselor = counselor
            self.visits = visits
            self.appointments = appointments
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.studentID = try row.value("StudentID")
            self.firstName = try row.value("FirstName")
            self.lastName = try row.value("LastName")
            self.schoolID = try row.value("SchoolID")
            self.graduationYear = try row.value("GraduationYear")
            self.gpa = try row.value("GPA")
            self.status = try row.value("Status")
            self.counselorID = try row.value("CounselorID")
            self.email = try row.value("Email")
            self.birthDate = try row.value("BirthDate")
            self.registered = try row.value("Registered")
            self.school = try row.structure("School")
            self.counselor = try row.structure("Counselor")
            self.visits = try row.structures("Visits")
            self.appointments = try row.structures("Appointments")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("StudentID", self.studentID)
            row.set("FirstName", self.firstName)
            row.set("LastName", self.lastName)
            row.set("SchoolID", self.schoolID)
            row.set("GraduationYear", self.graduationYear)
            row.set("GPA", self.gpa)
            row.set("Status", self.status)
            row.set("CounselorID", self.counselorID)
            row.set("Email", self.email)
            row.set("BirthDate", self.birthDate)
            row.set("Registered", self.registered)
            row.link("School", self.school)
            row.link("Counselor", self.counselor)
            row.link("Visits", self.visits)
            row.link("Appointments", self.appointments)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var studentID: ODataField<Int32> { .init(odataPath, "StudentID") }
            public var firstName: ODataField<String> { .init(odataPath, "FirstName") }
            public var lastName: ODataField<String> { .init(odataPath, "LastName") }
            public var schoolID: ODataField<Int32> { .init(odataPath, "SchoolID") }
            public var graduationYear: ODataField<Int16> { .init(odataPath, "GraduationYear") }
            public var gpa: ODataField<Decimal> { .init(odataPath, "GPA") }
            public var status: ODataField<String> { .init(odataPath, "Status") }
            public var counselorID: ODataField<Int32> { .init(odataPath, "CounselorID") }
            public var email: ODataField<String> { .init(odataPath, "Email") }
            public var birthDate: ODataField<ODataDate> { .init(odataPath, "BirthDate") }
            public var registered: ODataField<ODataDateTime> { .init(odataPath, "Registered") }
            public var school: ODataLink<School> { .init(odataPath, "School") }
            public var counselor: ODataLink<Counselor> { .init(odataPath, "Counselor") }
            public var visits: ODataLinks<Visit> { .init(odataPath, "Visits") }
            public var appointments: ODataLinks<Appointment> { .init(odataPath, "Appointments") }
        }
    }
}
