import java.nio.file.*;
import java.util.*;

/** Lists that MySQL 9.7 gave, in `expected.txt` beside the sources; `SUITE_RECORD=1` writes what is seen instead of comparing. */
final class Expected {
    private static final Path FILE = Path.of(System.getenv().getOrDefault("SUITE_EXPECTED", "expected.txt"));

    private Expected() {}

    static void check(String name, List<String> seen) throws Exception {
        List<String> lines = new ArrayList<>();
        for (String row : seen) lines.add(row.replace(Check.DATABASE, "DB").replace("\n", "\\n"));
        if (System.getenv("SUITE_RECORD") != null) {
            StringBuilder text = new StringBuilder("== " + name + "\n");
            for (String line : lines) text.append(line).append('\n');
            Files.writeString(FILE, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            return;
        }
        List<String> expected = section(name);
        if (!expected.equals(lines)) {
            StringBuilder text = new StringBuilder(name + ":");
            for (int i = 0; i < Math.max(expected.size(), lines.size()); i++) {
                String want = i < expected.size() ? expected.get(i) : "(none)";
                String have = i < lines.size() ? lines.get(i) : "(none)";
                if (!want.equals(have)) text.append("\n expected ").append(want).append("\n found    ").append(have);
            }
            throw new AssertionError(text.toString());
        }
    }

    /** The last section of that name: recording twice in one run writes it twice. */
    private static List<String> section(String name) throws Exception {
        List<String> found = null;
        List<String> current = null;
        for (String line : Files.readAllLines(FILE)) {
            if (line.startsWith("== ")) {
                current = new ArrayList<>();
                if (line.equals("== " + name)) found = current;
            } else if (current != null) {
                current.add(line);
            }
        }
        if (found == null) throw new AssertionError("nothing expected under " + name);
        return found;
    }
}
