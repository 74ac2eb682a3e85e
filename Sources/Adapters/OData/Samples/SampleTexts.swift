/// Words of which sample records are made.
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
