"""Prints how long an all_reduce takes on 8 x H200, by size: python3 times.py"""
import collsim

rows = collsim.run("hgx-h200", sizes=[1 << 20, 1 << 25, 1 << 30])
for row in zip(rows["bytes"], rows["time_us"], rows["algorithm"], rows["protocol"]):
    print("%d %.2f %s %s" % row)
