"""Debian packages that are no benchmarks: what tests and the soak build and put to work."""

from variants import BenchError, run
from workloads import Package, jobs


class Memcached(Package):
    """memcached with its own libevent in it: a shared one would be invisible, and most of its races with it."""

    name = "memcached"
    packages = ("memcached", "libevent")

    def build_package(self, variant, where, log):
        event = self.folder(variant, where, "libevent")
        server = self.folder(variant, where, "memcached")
        env = variant.build_environment()
        installed = event / "installed"
        # Debian's patches are younger than what autotools made of the files they change.
        keep = [f"{tool}=:" for tool in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE")]
        run(["./configure", "--quiet", "--disable-shared", "--disable-openssl", "--disable-samples", "--disable-libevent-regress",
             "--disable-dependency-tracking", f"--prefix={installed}"], log, event, env)
        run(["make", jobs(), "install", *keep], log, event, env)
        run(["./configure", "--quiet", "--disable-docs", "--disable-dependency-tracking", f"--with-libevent={installed}"], log,
            server, {**env, "LIBS": "-lpthread"})
        run(["make", jobs(), "memcached", *keep], log, server, env)

    def command(self, variant, where):
        return [str(self.folder(variant, where, "memcached") / "memcached")]


class Redis(Package):
    """The server with its threads for input and output, for closing files and for freeing memory."""

    name = "redis"
    packages = ("redis",)

    def build_package(self, variant, where, log):
        folder = self.folder(variant, where, "redis")
        # With glibc's allocator: its own would be one that nobody sees.
        run(["make", jobs(), f"CC={variant.cc}", f"CXX={variant.cxx}", "MALLOC=libc", "OPTIMIZATION=-O2",
             f"REDIS_CFLAGS={variant.flags}", f"REDIS_LDFLAGS={variant.flags}", "BUILD_TLS=no", "USE_SYSTEMD=no"], log, folder)

    def command(self, variant, where):
        return [str(self.folder(variant, where, "redis") / "src" / "redis-server")]


class X264(Package):
    """A few small frames encoded by three threads: jobs are functions of all kinds, cast to one type."""

    name = "x264"
    packages = ("x264",)
    WIDTH, HEIGHT, FRAMES = 176, 144, 12

    def build_package(self, variant, where, log):
        folder = self.folder(variant, where, "x264")
        without = [f"--disable-{what}" for what in ("asm", "opencl", "avs", "swscale", "lavf", "ffms", "gpac", "lsmash")]
        run(["./configure", *without, "--bit-depth=8"], log, folder, variant.build_environment())
        run(["make", jobs(), "x264"], log, folder, variant.build_environment())

    def film(self, where):
        path = where.work / "film.y4m"
        if not path.exists():
            width, height = self.WIDTH, self.HEIGHT
            film = [b"YUV4MPEG2 W%d H%d F25:1 Ip C420jpeg\n" % (width, height)]
            for frame in range(self.FRAMES):
                film += [b"FRAME\n",
                         bytes((x * 3 + y * 2 + frame * 5 ^ x * y >> 4) & 255 for y in range(height) for x in range(width)),
                         bytes(x + frame * 3 & 255 for _ in range(height // 2) for x in range(width // 2)),
                         bytes(y * 2 + frame & 255 for y in range(height // 2) for _ in range(width // 2))]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(film))
        return path

    def tasks(self, variant, where):
        encoded = where.work / "film.264"

        def check():
            if encoded.stat().st_size == 0:
                raise BenchError("x264: encoded to nothing")

        yield "encode", [str(self.folder(variant, where, "x264") / "x264"), "--threads", "3", "--preset", "fast", "--quiet",
                         "--no-progress", "-o", str(encoded), str(self.film(where))], where.work / "x264.out", check
