import AdapterKit
import ODataEngine
import ODataModel

/// Generated records of the admissions model: invented people at invented schools, the same in every run.
struct AdmissionsSamples {
    private let tables: ServiceTables
    private let counts: (schools: Int, students: Int, counselors: Int, visits: Int, appointments: Int)

    /// Nil for a model with other tables than those of the demonstration: a real service may have its namespace.
    init?(tables: ServiceTables, students: Int) {
        guard Self.outline(of: tables) == Self.outline else { return nil }
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

    /// The sets and their properties, with all that decides which values they take.
    static func outline(of tables: ServiceTables) -> Set<String> {
        Set(
            tables.tables.values.map { table in
                let columns = table.columns.values.map { column in
                    let facets = column.type.facets
                    let places: Int? = if case .digits(let count)? = facets.scale { count } else { nil }
                    let limits = [facets.maximumLength, facets.precision, places].map { $0.map(String.init) ?? "-" }
                    return "\(column.property) \(column.type) \(limits.joined(separator: " "))"
                        + (column.type.isNullable ? "" : " required")
                }
                let key = table.keyNames.joined(separator: ",")
                return "\(table.source)(\(key)): \(columns.sorted().joined(separator: ", "))"
            })
    }

    /// ``outline(of:)`` of the model that the samples are made for.
    private static let outline: Set<String> = [
        "States(StateCode): Name Edm.String 40 - - required, StateCode Edm.String 2 - - required",
        "Schools(SchoolID): City Edm.String 60 - -, Name Edm.String 100 - - required, SchoolID Edm.Int32 - - - "
            + "required, StateCode Edm.String 2 - -",
        "Students(StudentID): BirthDate Edm.Date - - -, CounselorID Edm.Int32 - - -, Email Edm.String 120 - -, "
            + "FirstName Edm.String 60 - - required, GPA Edm.Decimal - 3 2, GraduationYear Edm.Int16 - - -, LastName "
            + "Edm.String 60 - - required, Registered Edm.DateTimeOffset - 6 -, SchoolID Edm.Int32 - - -, Status "
            + "Edm.String 20 - - required, StudentID Edm.Int32 - - - required",
        "Counselors(CounselorID): CounselorID Edm.Int32 - - - required, Email Edm.String 120 - -, FirstName "
            + "Edm.String 60 - - required, LastName Edm.String 60 - - required, Region Edm.String 40 - -",
        "Visits(VisitID): CounselorID Edm.Int32 - - -, Interest Edm.Byte - - -, Kind Edm.String 40 - -, Notes "
            + "Edm.String 2000 - -, SchoolID Edm.Int32 - - -, StudentID Edm.Int32 - - - required, VisitID Edm.Int32 - "
            + "- - required, VisitedAt Edm.DateTimeOffset - 6 - required",
        "Appointments(AppointmentID): AppointmentID Edm.Int32 - - - required, Confirmed Edm.Boolean - - - "
            + "required, CounselorID Edm.Int32 - - -, Length Edm.Duration - - -, Place Edm.String 80 - -, StartsAt "
            + "Edm.DateTimeOffset - 6 - required, StudentID Edm.Int32 - - - required",
    ]

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

/// The words that sample records are made of.
enum SampleTexts {
    static let states: [(code: String, name: String)] = [
        ("AL", "Alabama"),
        ("AK", "Alaska"),
        ("AZ", "Arizona"),
        ("AR", "Arkansas"),
        ("CA", "California"),
        ("CO", "Colorado"),
        ("CT", "Connecticut"),
        ("DE", "Delaware"),
        ("DC", "District of Columbia"),
        ("FL", "Florida"),
        ("GA", "Georgia"),
        ("HI", "Hawaii"),
        ("ID", "Idaho"),
        ("IL", "Illinois"),
        ("IN", "Indiana"),
        ("IA", "Iowa"),
        ("KS", "Kansas"),
        ("KY", "Kentucky"),
        ("LA", "Louisiana"),
        ("ME", "Maine"),
        ("MD", "Maryland"),
        ("MA", "Massachusetts"),
        ("MI", "Michigan"),
        ("MN", "Minnesota"),
        ("MS", "Mississippi"),
        ("MO", "Missouri"),
        ("MT", "Montana"),
        ("NE", "Nebraska"),
        ("NV", "Nevada"),
        ("NH", "New Hampshire"),
        ("NJ", "New Jersey"),
        ("NM", "New Mexico"),
        ("NY", "New York"),
        ("NC", "North Carolina"),
        ("ND", "North Dakota"),
        ("OH", "Ohio"),
        ("OK", "Oklahoma"),
        ("OR", "Oregon"),
        ("PA", "Pennsylvania"),
        ("RI", "Rhode Island"),
        ("SC", "South Carolina"),
        ("SD", "South Dakota"),
        ("TN", "Tennessee"),
        ("TX", "Texas"),
        ("UT", "Utah"),
        ("VT", "Vermont"),
        ("VA", "Virginia"),
        ("WA", "Washington"),
        ("WV", "West Virginia"),
        ("WI", "Wisconsin"),
        ("WY", "Wyoming"),
    ]

    static let firstNames = [
        "Ada", "Alan", "Alma", "Amos", "Anna", "Aron", "Bela", "Bert", "Cara", "Carl", "Cleo", "Cora", "Dale", "Dora",
        "Earl", "Edna", "Elsa", "Emil", "Enid", "Eric", "Esme", "Ezra", "Faye", "Finn", "Gail", "Glen", "Greta",
        "Hal", "Hana", "Hope", "Hugo", "Ida", "Ines", "Ivan", "Jada", "Joel", "Jonas", "June", "Kai", "Kira", "Lars",
        "Leah", "Lena", "Liam", "Lila", "Luca", "Mara", "Mina", "Nell", "Niko", "Nora", "Olga", "Omar", "Otis",
        "Owen", "Pia", "Rhea", "Rosa", "Ruth", "Saul", "Seth", "Sina", "Tara", "Theo", "Uma", "Vera", "Wade", "Wren",
        "Yara", "Zoe",
    ]

    static let lastNames = [
        "Abbott", "Adler", "Ames", "Arden", "Baird", "Barlow", "Becker", "Bishop", "Boone", "Brandt", "Burke",
        "Calder", "Carver", "Colby", "Crane", "Dalton", "Darby", "Dreyer", "Ellis", "Ewing", "Falk", "Farrow",
        "Finch", "Foss", "Garner", "Gibbs", "Grant", "Hale", "Hanson", "Harlow", "Hayes", "Holt", "Ingram", "Jarvis",
        "Keane", "Keller", "Kirby", "Lang", "Larkin", "Lowell", "Marsh", "Mercer", "Moody", "Nash", "Norris", "Oakes",
        "Ortega", "Osborn", "Park", "Pierce", "Quinn", "Ramsey", "Reyes", "Rowan", "Sayre", "Shaw", "Sloan", "Stark",
        "Tate", "Thorne", "Tully", "Vance", "Voss", "Walsh", "Ware", "Webb", "Wilder", "Wyatt", "York",
    ]

    static let cities = [
        "Ashford", "Bayview", "Brookside", "Cedar Falls", "Clearwater", "Eastbrook", "Fairmont", "Glenwood",
        "Greenville", "Harper", "Hillcrest", "Kingston", "Lakeside", "Linden", "Maple Grove", "Meadow", "Newport",
        "Northfield", "Oak Hill", "Pinecrest", "Ridgeway", "Riverton", "Salem", "Stonebridge", "Sunnyvale", "Union",
        "Westfield", "Willow Creek",
    ]

    static let schoolKinds = [
        "High School", "Academy", "Central High", "Preparatory", "Charter School",
    ]

    static let regions = [
        "Delta", "Gulf", "Midwest", "Mountain", "Northeast", "Pacific", "Plains", "Southeast",
    ]

    static let statuses = [
        "Prospect", "Inquired", "Applied", "Admitted", "Enrolled", "Declined",
    ]

    static let visitKinds = [
        "Campus tour", "School visit", "College fair", "Phone call", "Open house",
    ]

    static let notes = [
        "Asked about scholarships.", "Interested in engineering.", "Wants to see the dormitories.",
        "Brought both parents.", "Plays in the marching band.", "Will send transcripts.",
        "Considers two other colleges.", "Needs financial aid forms.",
    ]

    static let places = [
        "Lyceum 117", "Martindale 145", "Library, room 2", "Online", "Student Union",
    ]
}

/// Numbers that look random and are the same in every run (a 64-bit linear congruential generator, its upper half).
struct SampleNumbers {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// From 0 up to, but without, `bound`.
    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }

    mutating func pick<Element>(_ items: [Element]) -> Element { items[next(items.count)] }
}
