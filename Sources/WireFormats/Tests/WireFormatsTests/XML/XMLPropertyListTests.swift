import AdapterKit
import Testing
import WireFormats

private func read(_ body: String, head: String = "") throws -> WireValue {
    try XMLPropertyListFormat().read(Array("\(head)<plist version=\"1.0\">\(body)</plist>".utf8))
}

private func kind(_ body: String, head: String = "") -> WireFormatError.Kind? {
    do { _ = try read(body, head: head) } catch { return (error as? WireFormatError)?.kind }
    return nil
}

@Suite struct XMLPropertyListTests {
    @Test(arguments: [
        "",
        "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">",
        "<!DOCTYPE plist PUBLIC '-//APPLE COMPUTER//DTD PLIST 1.0//EN' 'http://www.apple.com/DTDs/PropertyList-1.0.dtd' >",
        "<?xml version='1.0'?><!-- c -->\n<!DOCTYPE plist PUBLIC \"-//apple//dtd plist 1.0//en\" \"\">",
        "<!DOCTYPE plist PUBLIC \"-//GNUstep//DTD plist 0.9//EN\" \"http://www.gnustep.org/plist-0_9.xml\">",
        "<!DOCTYPE plist SYSTEM \"file://localhost/System/Library/DTDs/PropertyList.dtd\">", "<!DOCTYPE plist>",
        "<!DOCTYPE plist SYSTEM 'file:///etc/passwd'\n>", "<!DOCTYPE plist PUBLIC 'x' 'y'>",
    ])
    func `a DOCTYPE of property lists that declares nothing is accepted and not loaded, as is none`(head: String) throws
    {
        #expect(try read("<true/>", head: head) == true)
    }

    @Test(arguments: [
        "<!DOCTYPE plist PUBLIC '-//Apple//DTD PLIST 1.0//EN' 'x' [<!ENTITY a 'b'>]>", "<!DOCTYPE plist []>",
        "<!DOCTYPE plist SYSTEM 'x' [<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;]>",
        "<!DOCTYPE dict PUBLIC '-//Apple//DTD PLIST 1.0//EN' 'x'>", "<!DOCTYPE plists>", "<!DOCTYPE plist PUBLIC 'x'>",
        "<!DOCTYPE plist SYSTEM>", "<!DOCTYPE plist SYSTEM 'x' 'y'>", "<!DOCTYPE plist PUBLIC '{' 'y'>",
        "<!DOCTYPE plist SYSTEM 'x", "<!DOCTYPE plist", "<!DOCTYPE plist SYSTEM 'é'>",
    ])
    func `any other DOCTYPE is refused`(head: String) {
        #expect(kind("<true/>", head: head) == .refused)
    }

    @Test func `what such a DOCTYPE points to defines no entity`() {
        #expect(
            kind("<string>&a;</string>", head: "<!DOCTYPE plist SYSTEM 'http://127.0.0.1:9/a.dtd'>") != nil)
    }

    @Test func `integers are decimal or hexadecimal, with 64 bits`() throws {
        #expect(try read("<integer>0x7F</integer>") == 127)
        #expect(try read("<integer> -0x10\n</integer>") == -16)
        #expect(try read("<integer>+18446744073709551615</integer>") == .uint64(.max))
        #expect(try read("<array><integer>000000000000000000000012</integer></array>") == [12])
        #expect(kind("<integer>18446744073709551616</integer>") == .refused)
        #expect(kind("<integer>-9223372036854775809</integer>") == .refused)
        for text in ["", "1.0", "1 2", "0x", "--1", "١"] { #expect(kind("<integer>\(text)</integer>") == .malformed) }
    }

    @Test func `reals are decimal or not finite`() throws {
        #expect(try read("<real>1</real>") == .double(1))
        #expect(try read("<real>-0.0</real>") == .double(-0.0))
        #expect(try read("<real>.5e1</real>") == .double(5))
        #expect(try read("<real>+Infinity</real>") == .double(.infinity))
        #expect(try read("<real>-inf</real>") == .double(-.infinity))
        #expect(kind("<real>1e400</real>") == .refused)
        for text in ["", "0x1p3", "1e", ".", "infinite"] { #expect(kind("<real>\(text)</real>") == .malformed) }
    }

    @Test func `dates honour their offset and are written in whole seconds`() throws {
        let instant = WireDate(secondsSinceReferenceDate: 3600)
        #expect(try read("<date>2001-01-01T01:00:00Z</date>") == .date(instant))
        #expect(try read("<array><date>2001-01-01T03:30:00+02:30</date></array>") == [.date(instant)])
        #expect(kind("<date>2001-02-29T00:00:00Z</date>") == .malformed)
        #expect(kind("<array><date>2001-02-29T00:00:00Z</date></array>") == .malformed)
        #expect(kind("<date>2001-01-01</date>") == .malformed)
    }

    @Test func `data is strict base64 between white space`() throws {
        #expect(try read("<data>\n\tAQ I\tD\n</data>") == .data([1, 2, 3]))
        for text in ["A", "AQ", "AQ=", "A===", "A*==", "AQI=AQID"] {
            #expect(kind("<data>\(text)</data>") == .malformed)
        }
    }

    @Test func `CDATA is text and comments are skipped`() throws {
        #expect(try read("<string>a<![CDATA[<&]]>b<!-- c -->d<?p?>&amp;</string>") == "a<&bd&")
        #expect(try read("<dict><!-- c --><key>k<!-- c --></key><!-- c --><true/></dict>") == ["k": true])
    }

    @Test(arguments: [
        "<dict><key>a</key></dict>", "<dict><true/></dict>", "<dict><key>a</key><key>b</key><true/></dict>",
        "<array><key>a</key></array>", "<key>a</key>", "", "<true/><true/>", "<foo/>", "<array>text</array>",
        "<true>x</true>",
        "<string a='b'>x</string>", "<string><b/></string>", "<plist/>", "<array><dict></array></dict>", "<Dict/>",
        "<string xmlns='u'/>", "<dict>text<key>a</key><true/></dict>", "<array><![CDATA[x]]></array>",
        "<array><string>x</String></array>",
    ])
    func `what is no property list is refused`(body: String) {
        #expect(kind(body) == .malformed)
    }

    @Test(arguments: [
        "<integer17</integer>", "<integer 7</integer>", "<integer>7</integer", "<integer>7</integerx>",
        "<integer>7</intege>", "<stringx</string>", "<string>x</string", "<string>x</strin>", "<true/", "<truex/>",
        "<tru/>",
        "<real1.5</real>", "<real>1.5</rea>", "<dataAQID</data>", "<date2001-01-01T01:00:00Z</date>",
        "<date>2001-01-01T01:00:00Z</dat>", "<date>2001-01-01T01:00:0:Z</date>", "<arrayx</array>", "<dict</dict>",
    ])
    func `a tag that is not one is refused, however the document begins`(element: String) throws {
        let written = try XMLPropertyListFormat().write([])
        let root = try #require(written.firstRange(of: Array("<plist".utf8))?.lowerBound)
        for head in ["", String(decoding: written[..<root], as: UTF8.self)] {
            #expect(kind("\n<array>\n\t\(element)\n</array>\n", head: head) == .malformed)
        }
    }

    @Test func `duplicate keys follow the policy`() throws {
        let document = Array("<plist><dict><key>a</key><true/><key>a</key><false/></dict></plist>".utf8)
        #expect(throws: WireFormatError.self) { try XMLPropertyListFormat().read(document) }
        let tape = try XMLPropertyListFormat().readTape(document, limits: ReadingLimits(duplicateKeys: .keepLast))
        #expect(tape.value() == ["a": false] && tape.droppedDuplicates == 1)
    }

    @Test func `a uid is Apple's dictionary, and no other dictionary is written like it`() throws {
        #expect(try read("<array><dict><key>CF$UID</key><integer>7</integer></dict></array>") == [.uid(7)])
        #expect(try read("<dict><key>CF$UID</key><integer>-7</integer></dict>") == ["CF$UID": -7])
        #expect(try read("<dict><key>CF$UID</key><string>7</string></dict>") == ["CF$UID": "7"])
        #expect(throws: WireFormatError.self) { try XMLPropertyListFormat().write(["CF$UID": 7]) }
        _ = try XMLPropertyListFormat().write(["CF$UID": 7, "b": 1])
    }

    static let plain: [WireValue] = [
        ["text", "", "a&b", "ä"], [0, -7, 123_456_789_012_345_678], [true, false, 2.5], [[:], []],
        [.date(WireDate(secondsSinceReferenceDate: 3600)), .data([1, 2, 3, 4])],
        [["a": 1, "b": "x"], ["a": 2, "b": "y"], ["a": 3]],
    ]

    /// A document that stands as writers write it is read into a tree in a way of its own.
    @Test(arguments: plain) func `with any byte changed or left out a tree is what a tape says`(value: WireValue) throws
    {
        let format = XMLPropertyListFormat()
        let document = try format.write(value)
        let start = try #require(document.firstRange(of: Array("<plist".utf8))?.lowerBound)
        for index in document.indices[start...] {
            for byte in [nil] + "<>/&1-a \t".utf8.map(Optional.some) {
                var changed = document
                changed.replaceSubrange(index...index, with: byte.map { [$0] } ?? [])
                let tree = try? format.read(changed)
                let tape = try? format.readTape(changed, limits: ReadingLimits()).value()
                #expect(tree == tape, "\(index): \(String(decoding: changed, as: UTF8.self))")
            }
        }
    }

    @Test func `the layout is Apple's`() throws {
        let value: WireValue = [
            "a<b": ["x\ry", 1, 2.5], "d": .data(Array(repeating: 1, count: 60)), "e": [], "f": [:], "g": "",
        ]
        let expected = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>a&lt;b</key>
            \t<array>
            \t\t<string>x&#13;y</string>
            \t\t<integer>1</integer>
            \t\t<real>2.5</real>
            \t</array>
            \t<key>d</key>
            \t<data>
            \tAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB
            \tAQEBAQEBAQEB
            \t</data>
            \t<key>e</key>
            \t<array/>
            \t<key>f</key>
            \t<dict/>
            \t<key>g</key>
            \t<string></string>
            </dict>
            </plist>

            """
        #expect(String(decoding: try XMLPropertyListFormat().write(value), as: UTF8.self) == expected)
    }
}
