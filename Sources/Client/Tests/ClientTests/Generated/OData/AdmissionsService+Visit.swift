// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

extension AdmissionsService {
    public struct Visit: ODataEntity {
        public static let odataType = "ADMISSIONSCOUNSELOR.Visit"
        public static let odataKeys: [String] = ["VisitID"]
        public var odata = ODataControl()
        public var visitID: Int32?
        public var studentID: Int32?
        public var counselorID: Int32?
        public var schoolID: Int32?
        public var visitedAt: ODataDateTime?
        public var kind: String?
        public var interest: UInt8?
        public var notes: String?
        public var student: Student? {
            get { oneStudent.first }
            set { oneStudent = newValue.map { [$0] } ?? [] }
        }
        public var counselor: Counselor? {
            get { oneCounselor.first }
            set { oneCounselor = newValue.map { [$0] } ?? [] }
        }
        public var school: School? {
            get { oneSchool.first }
            set { oneSchool = newValue.map { [$0] } ?? [] }
        }
        private var oneStudent: [Student] = []
        private var oneCounselor: [Counselor] = []
        private var oneSchool: [School] = []

        public init(visitID: Int32? = nil, studentID: Int32? = nil, counselorID: Int32? = nil, schoolID: Int32? = nil, visitedAt: ODataDateTime? = nil, kind: String? = nil, interest: UInt8? = nil, notes: String? = nil, student: Student? = nil, counselor: Counselor? = nil, school: School? = nil) {
            self.visitID = visitID
            self.studentID = studentID
            self.counselorID = counselorID
            self.schoolID = schoolID
            self.visitedAt = visitedAt
            self.kind = kind
            self.interest = interest
            self.notes = notes
            self.student = student
            self.counselor = counselor
            self.school = school
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.visitID = try row.value("VisitID")
            self.studentID = try row.value("StudentID")
            self.counselorID = try row.value("CounselorID")
            self.schoolID = try row.value("SchoolID")
            self.visitedAt = try row.value("VisitedAt")
            self.kind = try row.value("Kind")
            self.interest = try row.value("Interest")
            self.notes = try row.value("Notes")
            self.student = try row.structure("Student")
            self.counselor = try row.structure("Counselor")
            self.school = try row.structure("School")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("VisitID", self.visitID)
            row.set("StudentID", self.studentID)
            row.set("CounselorID", self.counselorID)
            row.set("SchoolID", self.schoolID)
            row.set("VisitedAt", self.visitedAt)
            row.set("Kind", self.kind)
            row.set("Interest", self.interest)
            row.set("Notes", self.notes)
            row.link("Student", self.student)
            row.link("Counselor", self.counselor)
            row.link("School", self.school)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var visitID: ODataField<Int32> { .init(odataPath, "VisitID") }
            public var studentID: ODataField<Int32> { .init(odataPath, "StudentID") }
            public var counselorID: ODataField<Int32> { .init(odataPath, "CounselorID") }
            public var schoolID: ODataField<Int32> { .init(odataPath, "SchoolID") }
            public var visitedAt: ODataField<ODataDateTime> { .init(odataPath, "VisitedAt") }
            public var kind: ODataField<String> { .init(odataPath, "Kind") }
            public var interest: ODataField<UInt8> { .init(odataPath, "Interest") }
            public var notes: ODataField<String> { .init(odataPath, "Notes") }
            public var student: ODataLink<Student> { .init(odataPath, "Student") }
            public var counselor: ODataLink<Counselor> { .init(odataPath, "Counselor") }
            public var school: ODataLink<School> { .init(odataPath, "School") }
        }
    }
}
