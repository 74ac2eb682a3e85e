import AdapterKit

/// 10,000 invented employees over 12 divisions, the same ones every time; the first two are both called John Doe, in
/// different divisions.
struct SampleEmployees {
    static let count = 10_000
    static let seed: UInt64 = 1_616

    let records: [WireDictionary]

    init() {
        var random = SeededRandom(seed: Self.seed)
        records = (0..<Self.count).map { Self.employee($0, &random) }
    }

    private static func employee(_ number: Int, _ random: inout SeededRandom) -> WireDictionary {
        let isDoe = number < 2
        let first = isDoe ? "John" : random.element(of: SampleNames.first)
        let last = isDoe ? "Doe" : random.element(of: SampleNames.last)
        let division = isDoe ? SampleNames.divisions[number] : random.element(of: SampleNames.divisions)
        return WireDictionary(uncheckedUniqueKeys: [
            .init(key: Employees.id.text, value: .string("E\(100_000 + number)")),
            .init(key: Employees.firstName.text, value: .string(first)),
            .init(key: Employees.lastName.text, value: .string(last)),
            .init(key: Employees.division.text, value: .string(division)),
            .init(key: Employees.email.text, value: .string("e\(100_000 + number)@example.com")),
            .init(key: Employees.phoneNumber.text, value: .string(phoneNumber(&random))),
        ])
    }

    /// A number that is set aside for fiction: 555-0100 to 555-0199 of any area.
    private static func phoneNumber(_ random: inout SeededRandom) -> String {
        "+1 \(random.number(in: 201..<1_000)) 555 01\(random.number(in: 10..<100))"
    }
}

/// Names of sample employees, and of where they work. Accents, apostrophes and hyphens are there to be searched for.
enum SampleNames {
    static let divisions = [
        "Accounting", "Customer Care", "Design", "Engineering", "Facilities", "Human Resources", "Legal", "Logistics",
        "Marketing", "Purchasing", "Research", "Sales",
    ]

    static let first = [
        "Aaliyah", "Adam", "Agnes", "Ahmed", "Aiko", "Alice", "Amélie", "Amir", "Ana", "André", "Anika", "Anton",
        "Astrid", "Aylin", "Ben", "Björn", "Carla", "Carlos", "Chen", "Chloé", "Clara", "Daniel", "Daria", "David",
        "Deniz", "Diego", "Elena", "Eli", "Elif", "Emma", "Erik", "Esra", "Eva", "Fatima", "Felix", "Fiona",
        "Francesca",
        "François", "Freya", "Gabriel", "Georg", "Grace", "Greta", "Hana", "Hannah", "Hans", "Hassan", "Helena", "Hugo",
        "Ida", "Ines", "Ingrid", "Irina", "Isaac", "Ivan", "Jack", "Jakob", "Jana", "Jean-Luc", "Jens", "João", "John",
        "Jonas", "José", "Julia", "Kai", "Karim", "Katarzyna", "Kenji", "Lars", "Laura", "Leila", "Leo", "Liam", "Lina",
        "Lucía", "Luis", "Magnus", "Mai", "Malik", "Marco", "Maria", "Marta", "Mateusz", "Maya", "Mehmet", "Mia",
        "Miguel", "Mina", "Mohamed", "Nadia", "Nina", "Noah", "Nora", "Oleg", "Olga", "Omar", "Oscar", "Paul", "Pedro",
        "Petra", "Priya", "Rafael", "Ravi", "René", "Rosa", "Ruth", "Samir", "Sara", "Sean", "Selma", "Siobhán",
        "Sofia",
        "Stefan", "Sven", "Tara", "Thomas", "Tim", "Ursula", "Vera", "Victor", "Wei", "Yara", "Yusuf", "Zoë", "Zuzana",
    ]

    static let last = [
        "Abbott", "Adeyemi", "Almeida", "Andersen", "Bakker", "Baumann", "Becker", "Bergström", "Bianchi", "Blanc",
        "Brandt", "Byrne", "Castillo", "Chowdhury", "Costa", "Dahl", "Das", "Delgado", "Demir", "Dimitrov", "Dubois",
        "Eriksen", "Esposito", "Farouk", "Ferrari", "Fischer", "Fontaine", "Fraser", "Fujita", "Gallagher", "García",
        "Ghosh", "Gómez", "Grant", "Gruber", "Gupta", "Haddad", "Hansen", "Hartmann", "Hayashi", "Herrera", "Hoffmann",
        "Horváth", "Hughes", "Ibrahim", "Ito", "Ivanova", "Jansen", "Jovanović", "Kaya", "Keller", "Khan", "Kim",
        "Klein", "Kovács", "Kowalski", "Krüger", "Kumar", "Lambert", "Larsen", "Laurent", "Lehmann", "Lindqvist",
        "Lopez", "MacLeod", "Maier", "Mancini", "Martín", "Mbeki", "Mendoza", "Meyer", "Moreau", "Müller", "Murphy",
        "Nakamura", "Navarro", "Nguyen", "Novák", "Nowak", "O'Brien", "O'Connor", "Okafor", "Olsen", "Ortiz", "Osei",
        "Papadakis", "Patel", "Pereira", "Petrov", "Popescu", "Quinn", "Rahman", "Ramírez", "Richter", "Rossi", "Roy",
        "Ruiz", "Sánchez", "Santos", "Sato", "Schmidt", "Schneider", "Silva", "Singh", "Smith", "Sørensen", "Suzuki",
        "Svensson", "Szabó", "Tanaka", "Taylor", "Thompson", "Torres", "Tran", "Vargas", "Virtanen", "Vogel",
        "von Berg", "Walsh", "Wang", "Watanabe", "Weber", "Yamamoto", "Yıldız", "Zhang", "Zimmermann",
    ]
}

extension SeededRandom {
    /// Unevenly by less than one in 2^50 for lists of this size.
    mutating func element<Element>(of list: [Element]) -> Element {
        list[Int(next() % UInt64(list.count))]
    }

    mutating func number(in range: Range<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }
}
