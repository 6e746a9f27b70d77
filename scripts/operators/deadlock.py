"""Two transactions that each change a row and then want the other's: port and database by the command line."""
import subprocess, sys

port, database = sys.argv[1:]
client = ["mysql", "--ssl=0", "-N", "-h127.0.0.1", f"-P{port}", "-uroot", database, "-e"]
line = "BEGIN; UPDATE author SET balance = 1 WHERE id = {0}; SELECT SLEEP({2}); UPDATE author SET balance = 2 WHERE id = {1}; ROLLBACK"
both = [subprocess.Popen([*client, line.format(first, second, pause)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for first, second, pause in ((1, 2, 1), (2, 1, 1.5))]
print(*sorted(process.communicate()[1] for process in both))
