from case import SabotageCase


class SoundHouse(SabotageCase):
    def test_passes_every_check(self):
        self.assertEqual((0, []), self.house.findings())
