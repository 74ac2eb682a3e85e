// swift-format-ignore-file
// Written by `porticoctl client generate` from the model of admissions. Generate it anew, do not edit it.
import Client
import Foundation

extension AdmissionsService {
    public struct Appointment: ODataEntity {
        public static let odataType = "ADMISSIONSCOUNSELOR.Appointment"
        public static let odataKeys: [String] = ["AppointmentID"]
        public var odata = ODataControl()
        public var appointmentID: Int32?
        public var studentID: Int32?
        public var counselorID: Int32?
        public var startsAt: ODataDateTime?
        public var length: Duration?
        public var place: String?
        public var confirmed: Bool?
        public var student: Student? {
            get { oneStudent.first }
            set { oneStudent = newValue.map { [$0] } ?? [] }
        }
        public var counselor: Counselor? {
            get { oneCounselor.first }
            set { oneCounselor = newValue.map { [$0] } ?? [] }
        }
        private var oneStudent: [Student] = []
        private var oneCounselor: [Counselor] = []

        public init(appointmentID: Int32? = nil, studentID: Int32? = nil, counselorID: Int32? = nil, startsAt: ODataDateTime? = nil, length: Duration? = nil, place: String? = nil, confirmed: Bool? = nil, student: Student? = nil, counselor: Counselor? = nil) {
            self.appointmentID = appointmentID
            self.studentID = studentID
            self.counselorID = counselorID
            self.startsAt = startsAt
            self.length = length
            self.place = place
            self.confirmed = confirmed
            self.student = student
            self.counselor = counselor
        }

        public init(_ row: ODataRow) throws {
            odata = row.control
            self.appointmentID = try row.value("AppointmentID")
            self.studentID = try row.value("StudentID")
            self.counselorID = try row.value("CounselorID")
            self.startsAt = try row.value("StartsAt")
            self.length = try row.value("Length")
            self.place = try row.value("Place")
            self.confirmed = try row.value("Confirmed")
            self.student = try row.structure("Student")
            self.counselor = try row.structure("Counselor")
        }

        public func write(to row: inout ODataRowWriter) {
            row.set("AppointmentID", self.appointmentID)
            row.set("StudentID", self.studentID)
            row.set("CounselorID", self.counselorID)
            row.set("StartsAt", self.startsAt)
            row.set("Length", self.length)
            row.set("Place", self.place)
            row.set("Confirmed", self.confirmed)
            row.link("Student", self.student)
            row.link("Counselor", self.counselor)
        }

        public struct Fields: ODataFields {
            let odataPath: ODataPath
            public init(_ path: ODataPath) { odataPath = path }
            public var appointmentID: ODataField<Int32> { .init(odataPath, "AppointmentID") }
            public var studentID: ODataField<Int32> { .init(odataPath, "StudentID") }
            public var counselorID: ODataField<Int32> { .init(odataPath, "CounselorID") }
            public var startsAt: ODataField<ODataDateTime> { .init(odataPath, "StartsAt") }
            public var length: ODataField<Duration> { .init(odataPath, "Length") }
            public var place: ODataField<String> { .init(odataPath, "Place") }
            public var confirmed: ODataField<Bool> { .init(odataPath, "Confirmed") }
            public var student: ODataLink<Student> { .init(odataPath, "Student") }
            public var counselor: ODataLink<Counselor> { .init(odataPath, "Counselor") }
        }
    }
}
