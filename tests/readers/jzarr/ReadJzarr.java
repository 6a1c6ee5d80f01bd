// Reads Zarr v2 arrays with jzarr, for read_store.py. For each path on standard input one line: the class of the Java array,
// its shape, and its values, little-endian, in base64; or "error" and why.
//   java -cp 'JARS/*' tests/readers/ReadJzarr.java
import com.bc.zarr.ZarrArray;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Base64;

public class ReadJzarr {
    static byte[] bytesOf(Object values) {
        int count = java.lang.reflect.Array.getLength(values);
        ByteBuffer buffer = ByteBuffer.allocate(count * 8).order(ByteOrder.LITTLE_ENDIAN);
        if (values instanceof byte[]) buffer.put((byte[]) values);
        else if (values instanceof short[]) for (short one : (short[]) values) buffer.putShort(one);
        else if (values instanceof int[]) for (int one : (int[]) values) buffer.putInt(one);
        else if (values instanceof long[]) for (long one : (long[]) values) buffer.putLong(one);
        else if (values instanceof float[]) for (float one : (float[]) values) buffer.putFloat(one);
        else if (values instanceof double[]) for (double one : (double[]) values) buffer.putDouble(one);
        else throw new IllegalArgumentException("type " + values.getClass().getSimpleName() + ": not read by this test");
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            try {
                ZarrArray array = ZarrArray.open(Paths.get(path));
                Object values = array.read();
                System.out.println(values.getClass().getSimpleName() + " " + Arrays.toString(array.getShape()).replace(" ", "") + " "
                        + Base64.getEncoder().encodeToString(bytesOf(values)));
            } catch (Throwable error) {
                System.out.println("error " + error.toString().replace('\n', ' '));
            }
            System.out.flush();
        }
    }
}
