import AdapterKit
import ODataModel
import ODataRecords

/// Generated records of the admissions model: invented people at invented schools, the same in every run.
struct AdmissionsSamples {
    static let namespace = "ADMISSIONSCOUNSELOR"
    static let standardStudents = 100_000

    private let tables: ServiceTables
    private let counts: (schools: Int, students: Int, counselors: Int, visits: Int, appointments: Int)

    init(tables: ServiceTables, students: Int) {
        self.tables = tables
        counts = (
            schools: students / 80 + 1, students: students, counselors: students / 2_000 + 1, visits: students / 5,
            appointments: students / 40
        )
    }

    func records() -> [SampleRecords] {
        let makers: [(String, () -> [WireDictionary])] = [
            ("States", states), ("Counselors", counselors), ("Schools", schools), ("Students", students),
            ("Visits", visits), ("Appointments", appointments),
        ]
        return makers.compactMap { set, make in tables[set].map { SampleRecords($0.entity, make()) } }
    }

    private func states() -> [WireDictionary] {
        SampleTexts.states.map { ["StateCode": .string($0.code), "Name": .string($0.name)] }
    }

    private func schools() -> [WireDictionary] {
        var numbers = SampleNumbers(seed: 2)
        return (1...counts.schools).map { number in
            let city = numbers.pick(SampleTexts.cities)
            return [
                "SchoolID": .int64(Int64(number)),
                "Name": .string("\(city) \(numbers.pick(SampleTexts.schoolKinds)) \(number)"),
                "City": .string(city), "StateCode": .string(numbers.pick(SampleTexts.states).code),
            ]
        }
    }

    private func counselors() -> [WireDictionary] {
        var numbers = SampleNumbers(seed: 3)
        return (1...counts.counselors).map { number in
            let (first, last) = (numbers.pick(SampleTexts.firstNames), numbers.pick(SampleTexts.lastNames))
            return [
                "CounselorID": .int64(Int64(number)), "FirstName": .string(first), "LastName": .string(last),
                "Email": .string("\(first).\(last)\(number)@admissions.example".lowercased()),
                "Region": .string(numbers.pick(SampleTexts.regions)),
            ]
        }
    }

    private func students() -> [WireDictionary] {
        var numbers = SampleNumbers(seed: 4)
        return (0..<counts.students).map { $0 + 1 }.map { student($0, &numbers) }
    }

    private func student(_ number: Int, _ numbers: inout SampleNumbers) -> WireDictionary {
        let (first, last) = (numbers.pick(SampleTexts.firstNames), numbers.pick(SampleTexts.lastNames))
        let hundredths = 150 + numbers.next(251)
        // Some have not been asked yet.
        let grade =
            numbers.next(20) == 0 ? nil : WireDecimal("\(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10)")
        let counselor = numbers.next(8) == 0 ? WireValue.null : .int64(Int64(1 + numbers.next(counts.counselors)))
        return [
            "StudentID": .int64(Int64(number)), "FirstName": .string(first), "LastName": .string(last),
            "SchoolID": .int64(Int64(1 + numbers.next(counts.schools))),
            "GraduationYear": .int64(Int64(2024 + numbers.next(6))),
            "GPA": grade.map(WireValue.decimal) ?? .null, "Status": .string(numbers.pick(SampleTexts.statuses)),
            "CounselorID": counselor,
            "Email": .string("\(first).\(last).\(number)@students.example".lowercased()),
            "BirthDate": .string(date(2004 + numbers.next(6), numbers.next(365))),
            "Registered": .date(instant(numbers.next(900), numbers.next(86_400))),
        ]
    }

    private func visits() -> [WireDictionary] {
        var numbers = SampleNumbers(seed: 5)
        return (0..<counts.visits).map { $0 + 1 }.map { number in
            [
                "VisitID": .int64(Int64(number)), "StudentID": .int64(Int64(1 + numbers.next(counts.students))),
                "CounselorID": .int64(Int64(1 + numbers.next(counts.counselors))),
                "SchoolID": .int64(Int64(1 + numbers.next(counts.schools))),
                "VisitedAt": .date(instant(numbers.next(900), 28_800 + numbers.next(32_400))),
                "Kind": .string(numbers.pick(SampleTexts.visitKinds)), "Interest": .int64(Int64(1 + numbers.next(5))),
                "Notes": numbers.next(3) == 0 ? .null : .string(numbers.pick(SampleTexts.notes)),
            ]
        }
    }

    private func appointments() -> [WireDictionary] {
        var numbers = SampleNumbers(seed: 6)
        return (0..<counts.appointments).map { $0 + 1 }.map { number in
            [
                "AppointmentID": .int64(Int64(number)),
                "StudentID": .int64(Int64(1 + numbers.next(counts.students))),
                "CounselorID": .int64(Int64(1 + numbers.next(counts.counselors))),
                "StartsAt": .date(instant(900 + numbers.next(120), 28_800 + 900 * numbers.next(36))),
                "Length": .int64(Int64(900 * (1 + numbers.next(4)))),
                "Place": .string(numbers.pick(SampleTexts.places)),
                "Confirmed": .bool(numbers.next(3) > 0),
            ]
        }
    }

    /// Days and seconds after 2024-01-01T00:00:00Z.
    private func instant(_ day: Int, _ second: Int) -> WireDate {
        WireDate(secondsSince1970: 1_704_067_200 + Double(day * 86_400 + second))
    }

    private func date(_ year: Int, _ day: Int) -> String {
        let start =
            CivilTime(year: year, month: 1, day: 1, hour: 0, minute: 0, second: 0)?.secondsSinceReferenceDate ?? 0
        let text = CivilTime(secondsSinceReferenceDate: start + day * 86_400)?.description ?? "2005-01-01"
        return String(text.prefix(10))
    }
}
