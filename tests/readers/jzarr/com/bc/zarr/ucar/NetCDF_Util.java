// Takes the place of jzarr's class of this name, which needs the netCDF classes of cdm-core 5: those are not on Maven Central,
// only older ones are, which lack DataType.getType(Class, boolean).
package com.bc.zarr.ucar;

import ucar.ma2.Array;
import ucar.ma2.DataType;
import ucar.ma2.IndexIterator;

public class NetCDF_Util {
    public static int[] netCDFOrder(int[] shape) {
        int[] reversed = new int[shape.length];
        for (int axis = 0; axis < shape.length; axis++) reversed[axis] = shape[shape.length - 1 - axis];
        return reversed;
    }

    public static Array createArrayWithGivenStorage(Object storage, int[] shape) {
        return storage.getClass().isArray() ? Array.factory(storage.getClass().getComponentType(), shape, storage) : null;
    }

    public static Array createFilledArray(DataType type, int[] shape, Number fill) {
        Array array = Array.factory(type, shape);
        if (fill == null) return array;
        IndexIterator at = array.getIndexIterator();
        while (at.hasNext()) {
            if (type == DataType.DOUBLE) at.setDoubleNext(fill.doubleValue());
            else if (type == DataType.FLOAT) at.setFloatNext(fill.floatValue());
            else if (type == DataType.LONG) at.setLongNext(fill.longValue());
            else if (type == DataType.INT) at.setIntNext(fill.intValue());
            else if (type == DataType.SHORT) at.setShortNext(fill.shortValue());
            else at.setByteNext(fill.byteValue());
        }
        return array;
    }

    public static DataType getDataType(com.bc.zarr.DataType type) {
        switch (type) {
            case f8: return DataType.DOUBLE;
            case f4: return DataType.FLOAT;
            case i8: return DataType.LONG;
            case i4:
            case u4: return DataType.INT;
            case i2:
            case u2: return DataType.SHORT;
            default: return DataType.BYTE;
        }
    }
}
