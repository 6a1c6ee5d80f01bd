"""What readers see of a plain directory in the matrix of writing, and whether what they see of another one is the same."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading

import matrix
import spell_out
from compare_sets import differences

PATIENCE = 120  # seconds for one answer
ENDED = "the program ended with status"
FILLINGS = ("85", "170")  # of memory that a program is given, as MALLOC_PERTURB_ takes them
# What a plain directory may be instead, for a reader to see the same of it (spell_out.py): its words for what is missing and consolidated metadata, which mounts
# have for all readers; in mounts with an explicit profile that profile's words (docs/readers.md); in the store itself no mark of text, since Zarr v3 has none, and
# none of images.
WORDS = {"spelled": [spell_out.spell_out], "consolidated": [spell_out.consolidate], "spelled and consolidated": [spell_out.spell_out, spell_out.consolidate]}
OF_PROFILES = {"gdal": [spell_out.take_missing_value, spell_out.spell_out], "netcdf": [spell_out.take_missing_value, spell_out.spell_out, spell_out.as_netcdf_reads]}
OF_STORES = {"without marks of text": [spell_out.without_marks_of_text], "without marks of images": [spell_out.without_marks_of_images]}
# Why a difference is none of zarrfs; each is counted apart.
IN_WORDS, UNSTEADY, FAILS = "in the words of an explicit profile", "seen otherwise of the plain directory each time", "fails on the plain directory, too"
REWRITTEN = "written otherwise into a plain directory each time"
KEPT = "of names of dimensions that a program drops when it changes attributes, and that stay"


class Worker:
    """A process in one environment that answers requests (serve_sets.py); begun anew when it dies or hangs."""

    def __init__(self, environment, **more):
        self.environment, self.more, self.process, self.lock = environment, more, None, threading.Lock()

    def start(self):
        command = [matrix.python_of(self.environment), *matrix.script("serve_sets.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **self.more})

    def ask(self, request):
        with self.lock:
            if self.process is None:
                self.start()
            alarm = threading.Timer(PATIENCE, self.process.kill)
            alarm.start()
            try:
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            finally:
                alarm.cancel()
            if answer:
                return json.loads(answer)
            status, self.process = self.process.wait(), None
            return {"error": f"{ENDED} {status}"}

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def blurred(answer, reads):
    """An answer without what differs between `reads`, answers of one reader to one question."""
    if isinstance(answer, dict) and all(isinstance(one, dict) for one in reads):
        return {name: blurred(value, [one.get(name) for one in reads]) for name, value in answer.items()}
    if isinstance(answer, list) and all(isinstance(one, list) and len(one) == len(answer) for one in reads):
        return [blurred(value, column) for value, column in zip(answer, [[one[at] for one in reads] for at in range(len(answer))])]
    return answer if all(one == reads[0] for one in reads) else "unsteady"


class Plain:
    """A plain directory, and what each reader sees of it, also in other words (WORDS). write_again(filling, path): another one of the same data.
    keep_names(path): gives arrays of a copy the names that they lost."""

    def __init__(self, world, path, form, plan, others=(), write_again=None, keep_names=None):
        self.world, self.path, self.form, self.plan, self.others, self.write_again = world, path, form, plan, others, write_again
        self.keep_names = keep_names
        self.seen, self.made, self.answers, self.fresh = {}, {}, {}, {}

    def read(self, readers, path, form):
        plan = {**self.plan, "driver": "zarr3" if form == 3 else "zarr"}
        asked = [self.world.threads.submit(self.world.ask, reader.environment, {"call": "read", "program": reader.program, "path": path, "plan": plan})
                 for reader in readers]
        return [one.result() for one in asked]

    def in_words(self, name, changes, reader):
        """What the reader answers of a copy with the changes."""
        if name not in self.made:
            self.made[name] = tempfile.mkdtemp(dir=self.world.work, prefix="words") + "/copy"
            shutil.copytree(self.path, self.made[name])
            for change in changes:
                change(self.made[name], *([self.others] if change is spell_out.as_netcdf_reads else []))
        if (name, reader.label) not in self.answers:
            self.answers[name, reader.label] = self.read([reader], self.made[name], 2)[0]
        return self.answers[name, reader.label]

    def afresh(self, reader):
        """What the reader sees of the plain directory in new processes, whose memory is filled otherwise."""
        if reader.label not in self.fresh:
            self.fresh[reader.label] = []
            for filling in FILLINGS:
                worker = Worker(matrix.python_of(reader.environment), MALLOC_PERTURB_=filling)
                plan = {**self.plan, "driver": "zarr3" if self.form == 3 else "zarr"}
                self.fresh[reader.label].append(worker.ask({"call": "read", "program": reader.program, "path": self.path, "plan": plan}))
                worker.end()
        return self.fresh[reader.label]

    def rewritten(self, reader):
        """What the reader sees of plain directories that are written again, by new processes whose memory is filled otherwise."""
        for filling in FILLINGS if self.write_again else []:
            name = f"written with {filling}"
            if name not in self.made:
                self.made[name] = tempfile.mkdtemp(dir=self.world.work, prefix="again") + "/copy"
                self.write_again(filling, self.made[name])
            if (name, reader.label) not in self.answers:
                self.answers[name, reader.label] = self.read([reader], self.made[name], self.form)[0]
            yield self.answers[name, reader.label]

    def different(self, reader, found, profile="", in_store=False):
        """Lines for what is as in none of the plain directory and its like, and why it is not counted, where that is known."""
        words = [] if self.form == 3 else [*WORDS.items(), *(OF_STORES.items() if in_store else ())]
        lines = self.told(reader, found, self.seen[reader.label], words)
        if lines and profile in OF_PROFILES and not self.told(reader, found, self.seen[reader.label], [*words, (profile, OF_PROFILES[profile])]):
            return lines, IN_WORDS
        if not lines:
            return [], ""
        if self.keep_names and not self.told(reader, found, self.seen[reader.label], [*words, ("names that stay", [self.keep_names])]):
            return lines, KEPT
        if all(self.is_untold(line) for line in lines):
            return lines, UNSTEADY
        fresh = self.afresh(reader)
        if "error" in found:
            same = found["error"].startswith(ENDED) and any(one.get("error") == found["error"] for one in fresh)
            return lines, FAILS if same else ""
        if self.is_one_of(reader, found, fresh):
            return lines, UNSTEADY
        return lines, REWRITTEN if self.is_one_of(reader, found, self.rewritten(reader)) else ""

    def is_one_of(self, reader, found, others):
        """Whether what was found is as in the plain directory but for what differs between `others` and it, if they differ."""
        seen = self.seen[reader.label]["answer"]
        reads = [one["answer"] for one in others if "answer" in one] + [seen]
        steady = all(not differences(reads[0], one) for one in reads)
        return not steady and not self.told(reader, {"answer": blurred(found["answer"], reads)}, {"answer": blurred(seen, reads)}, [])

    def is_untold(self, line):
        """Whether a line is of values of which nothing tells some: their chunk is not stored, and the fill value is null. Readers give what lay in memory."""
        found = re.match(r"/*(.*)/data/values: ", line)
        return bool(found) and spell_out.lacks_values(os.path.join(self.path, found[1].replace("variables/", "")))

    def told(self, reader, found, wanted, words):
        if "error" in found:
            kind = found["error"].split(":")[0]
            alike = [one for one in (self.in_words(*word, reader) for word in words if word[0] in OF_PROFILES) if one.get("error", "").split(":")[0] == kind]
            return [] if alike else [f"refused: {found['error']}"]
        lines = differences(wanted["answer"], found["answer"])
        for word in words:
            if not lines:
                break
            other = self.in_words(*word, reader)
            if "answer" in other:
                still = {line.split(": ")[0] for line in differences(other["answer"], found["answer"])}
                lines = [line for line in lines if line.split(": ")[0] in still]
        return lines

    def end(self):
        for path in self.made.values():
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
