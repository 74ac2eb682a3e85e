import Foundation
import Testing

@testable import Client

/// The generated services against the gateway that `PORTICO_GATEWAY` names; the end-to-end tests start one and run these.
/// What holds in both versions is asked of both mounts of the same service, by the same typed code.
@Suite("A gateway's OData services", .serialized, .enabled(if: RunningGateway.address != nil))
struct ODataGatewayTests {
    private typealias Student = AdmissionsService.Student

    enum ServicePath: CaseIterable, Sendable {
        case version4
        /// Version 2, at SAP's address, with a portal's sign-in.
        case version2
    }

    private func admissions(_ path: ServicePath) async throws -> AdmissionsService {
        switch path {
        case .version4: return AdmissionsService(try await Self.session.value)
        case .version2:
            return AdmissionsService(
                try await Self.portal.value, at: ["sap", "opu", "odata", "sap", "ADMISSIONSCOUNSELOR"], version: .v2)
        }
    }

    // One sign-in for all tests: it is made to take long.
    private static let session = Task {
        let session = Session(
            server: try #require(RunningGateway.address), transport: URLSessionTransport(),
            storage: CredentialsInMemory())
        try await session.signIn(name: "alice", password: "portico-demo")
        return session
    }

    private static let portal = Task {
        let portal = PortalSession(
            server: try #require(RunningGateway.address), transport: URLSessionTransport())
        try await portal.signIn(name: "alice", password: "portico-demo")
        return portal
    }

    @Test("answer the same query alike", arguments: ServicePath.allCases)
    func reading(_ path: ServicePath) async throws {
        let admissions = try await admissions(path)
        let best = admissions.students.filter { $0.gpa > 3.5 && $0.school.stateCode != "ZZ" }
            .orderBy { $0.gpa.descending }.orderBy { $0.studentID }.expand { $0.school }
        let page = try await best.top(5).page(counting: true)
        let count = try await best.count()
        #expect(page.entities.count == 5 && page.count == Int64(count))
        for student in page.entities {
            #expect(try #require(student.gpa) > Decimal(written: 3.5))
            #expect(student.school?.schoolID == student.schoolID && student.visits == nil)
            #expect(student.registered != nil && student.birthDate != nil && student.odata.etag != nil)
        }
        let first = try #require(page.entities.first)
        let again = try await admissions.students.select { [$0.lastName] }.entity(try #require(first.studentID))
        #expect(again.lastName == first.lastName && again.studentID == first.studentID && again.gpa == nil)
        #expect(
            try await admissions.students.filter { $0.registered == first.registered! }.all().contains {
                $0.studentID == first.studentID
            })
        #expect(
            try await admissions.students.filter { $0.birthDate == first.birthDate! }.all().contains {
                $0.studentID == first.studentID
            })
        let found = try await admissions.students.filter { $0.lastName.contains(first.lastName!) }.count()
        #expect(found > 0)
        #expect(
            try await admissions.students.related(to: first) { $0.visits }.all().allSatisfy {
                $0.studentID == first.studentID
            })
    }

    @Test("give the same students through either mount")
    func interchangeable() async throws {
        let (new, old) = (try await admissions(.version4), try await admissions(.version2))
        func students(_ service: AdmissionsService) async throws -> [Student] {
            try await service.students.filter { $0.gpa >= 3.25 }.orderBy { $0.studentID }.expand { $0.school }.top(20)
                .all()
                .map { student in
                    var plain = student
                    plain.odata = ODataControl()
                    plain.school?.odata = ODataControl()
                    return plain
                }
        }
        let (first, second) = (try await students(new), try await students(old))
        #expect(first == second && first.count == 20)
    }

    @Test("give every entity of every page once", arguments: ServicePath.allCases)
    func pages(_ path: ServicePath) async throws {
        let admissions = try await admissions(path)
        // Without those that other tests make and delete meanwhile.
        let students = admissions.students.filter { $0.studentID < 1_000_000 }
        var seen: [Int32] = []
        for try await student in students.select({ [$0.studentID] }).orderBy({ $0.gpa }).entities {
            seen.append(try #require(student.studentID))
        }
        #expect(Set(seen).count == seen.count)
        let count = try await students.count()
        #expect(seen.count == count)
    }

    @Test("make, change and delete, and tell who was first", arguments: ServicePath.allCases)
    func writing(_ path: ServicePath) async throws {
        let admissions = try await admissions(path)
        let name = "O'Neil & \"Söhne\" %27 + /?#'; \(UInt32.random(in: 0 ... .max))"
        let registered = ODataDateTime(utc: ODataLocalDateTime(seconds: 800_000_000), offset: 120)
        let made = try await admissions.schools.create(
            AdmissionsService.School(
                schoolID: .random(in: 1_000_000...2_000_000), name: name,
                students: [
                    Student(
                        studentID: .random(in: 1_000_000...2_000_000), firstName: "A", lastName: name,
                        gpa: Decimal(written: 3.1), status: "Prospect",
                        birthDate: ODataDate(year: 2008, month: 2, day: 29),
                        registered: registered)
                ]))
        let found = try await admissions.students.filter { $0.lastName == name }.all()
        let student = try #require(found.first)
        #expect(found.count == 1 && student.schoolID == made.schoolID && student.gpa == Decimal(written: 3.1))
        #expect(
            student.birthDate == ODataDate(year: 2008, month: 2, day: 29) && student.registered?.date == registered.date
        )
        let changed = try await admissions.students.update(student) { $0.gpa = Decimal(written: 3.25) }
        #expect(
            changed.gpa == Decimal(written: 3.25) && changed.lastName == name
                && changed.odata.etag != student.odata.etag)
        try await refused(412) { try await admissions.students.update(student) { $0.gpa = 2 } }
        try await refused(412) { try await admissions.students.delete(student) }
        try await admissions.students.delete(changed)
        try await refused(404) { _ = try await admissions.students.entity(try #require(student.studentID)) }
        try await admissions.schools.delete(try await admissions.schools.entity(try #require(made.schoolID)))
    }

    @Test("take a batch: reads beside change sets, each of which happens as a whole", arguments: ServicePath.allCases)
    func batches(_ path: ServicePath) async throws {
        let admissions = try await admissions(path)
        let (one, two) = (Int32.random(in: 2_000_001...3_000_000), Int32.random(in: 3_000_001...4_000_000))
        func counselor(_ id: Int32) -> AdmissionsService.Counselor {
            .init(counselorID: id, firstName: "B", lastName: "Batch \(id)\r\n--set-of-changes--")
        }
        var batch = ODataBatch(admissions.connection)
        let states = try batch.page(of: admissions.states.filter { $0.stateCode == "MS" })
        var made: ODataBatch.Pending<AdmissionsService.Counselor>?
        try batch.changes { made = try $0.create(counselor(one), in: admissions.counselors) }
        var never: ODataBatch.Pending<AdmissionsService.Counselor>?
        try batch.changes {
            never = try $0.create(counselor(two), in: admissions.counselors)
            try $0.delete(counselor(-1), in: admissions.counselors)
        }
        let answers = try await batch.send()
        #expect(try answers.value(of: states).entities.first?.name == "Mississippi")
        #expect(try answers.value(of: try #require(made)).lastName == counselor(one).lastName)
        #expect(throws: ClientError.self) { try answers.value(of: try #require(never)) }
        #expect(try await admissions.counselors.filter { $0.counselorID.isOne(of: [one, two]) }.count() == 1)
    }

    @Test("tell what changed since, and what is gone", arguments: ServicePath.allCases)
    func changes(_ path: ServicePath) async throws {
        let admissions = try await admissions(path)
        let name = "Changes \(UInt32.random(in: 0 ... .max))"
        let followed = admissions.students.filter { $0.lastName == name }
        func create() async throws -> Student {
            let id = Int32.random(in: 4_000_001...2_000_000_000)
            return try await admissions.students.create(
                .init(studentID: id, firstName: "A", lastName: name, status: "New"))
        }
        let (stays, leaves, goes) = (try await create(), try await create(), try await create())
        let (entities, link) = try await followed.tracked()
        #expect(entities.count == 3)
        let new = try await create()
        try await admissions.students.update(stays) { $0.firstName = "B" }
        try await admissions.students.update(leaves) { $0.lastName = "Elsewhere" }
        try await admissions.students.delete(goes)
        let changes = try await followed.changes(since: link)
        #expect(Set(changes.changed.map(\.studentID)) == [new.studentID, stays.studentID])
        #expect(changes.changed.first { $0.studentID == stays.studentID }?.firstName == "B")
        let gone = Set(changes.removed.map { String($0.id.split(separator: "/").last ?? "") })
        // Removals of what was never asked for may be told too.
        #expect(gone.isSuperset(of: ["Students(\(leaves.studentID!))", "Students(\(goes.studentID!))"]))
        #expect(gone.isDisjoint(with: ["Students(\(new.studentID!))", "Students(\(stays.studentID!))"]))
        let later = try await followed.changes(since: try #require(changes.deltaLink))
        #expect(later.changed.isEmpty && later.deltaLink != nil)
        try await refused(400) {
            _ = try await followed.changes(since: link.replacing("deltatoken=", with: "deltatoken=x"))
        }
    }

    @Test("take no text for anything else than a text", arguments: ServicePath.allCases)
    func injection(_ path: ServicePath) async throws {
        let admissions = try await admissions(path)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<60 {
            let text = ODataInjectionTests.text(&random).filter { $0 != "\0" } + "?"
            #expect(
                try await admissions.students.filter { $0.lastName == text }.count() == 0, "\(text.debugDescription)")
            // Keys hold no control characters.
            let key = String(text.unicodeScalars.filter { $0.value >= 0x20 })
            try await refused(404, key) { _ = try await admissions.states.entity(key) }
        }
    }

    @Test("say which property is at fault")
    func targets() async throws {
        let admissions = try await admissions(.version4)
        let error = await #expect(throws: ClientError.self) {
            try await admissions.students.create(
                Student(studentID: 9_999_999, firstName: "A", lastName: "B", gpa: Decimal(written: 3.123)))
        }
        guard case .refused(let refusal)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(refusal.status == 400 && refusal.target == "GPA" && refusal.code == "request.invalid")
    }

    @Test("carry out their operations, with flags, complex values and derived types")
    func reference() async throws {
        let reference = ReferenceService(try await Self.session.value)
        _ = try await reference.reseed()
        let products = try await reference.products.filter { $0.price > 0.5 }.orderBy { $0.name }.all()
        let product = try #require(products.first { $0.name == "Laptop" })
        #expect(try await reference.getTopProducts(count: 2).count == 2)
        #expect(try await reference.getProductStats() != nil)
        let price = try #require(try await reference.calculatePrice(on: product, discount: 10, tax: 20))
        #expect(price > 0)
        #expect(try await reference.getInfo(on: product, format: "short")?.contains("short") == true)
        let cheaper = try #require(try await reference.applyDiscount(on: product, percentage: 10))
        #expect(try #require(cheaper.price) < (try #require(product.price)))
        _ = try await reference.resetAllPrices()
        let status = try #require(products.compactMap(\.status).first)
        #expect(try await reference.products.filter { $0.status.has(status) }.count() > 0)
        let company = try await reference.company.read()
        #expect(company.name != nil)
        #expect(try await reference.products.only(ReferenceService.SpecialProduct.self).all().count < products.count)
    }

    private func refused(_ status: Int, _ what: String = "", _ work: () async throws -> Void) async throws {
        let error = await #expect(throws: ClientError.self) { try await work() }
        guard case .refused(let refusal)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(refusal.status == status, "\(refusal) \(what.debugDescription)")
    }
}
